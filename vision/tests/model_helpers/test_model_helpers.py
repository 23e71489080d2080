from brainscore_vision.model_helpers import download_weights


def test_download_weights_uses_the_folder_download_of_core(monkeypatch, tmp_path):
    from brainscore_core.supported_data_standards.brainio import s3

    calls = []
    monkeypatch.setattr(s3, "load_folder_from_s3", lambda *args: calls.append(args))
    files = [("weights.pth", "v1", "abc")]
    download_weights(
        bucket="brainscore-vision", folder_path="m", filename_version_sha=files, save_directory=str(tmp_path)
    )
    assert calls == [("brainscore-vision", "m", files, str(tmp_path))]
