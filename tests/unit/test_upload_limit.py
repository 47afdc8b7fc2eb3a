"""The largest upload: Streamlit has the number of the settings."""

from streamlit import config

from app import limit_uploads


def test_streamlit_takes_the_limit_of_the_settings(monkeypatch):
    before = config.get_option("server.maxUploadSize")
    monkeypatch.setenv("TOUCHSTONE_MAX_UPLOAD_MB", "700")
    try:
        limit_uploads()
        assert config.get_option("server.maxUploadSize") == 700
    finally:
        config.set_option("server.maxUploadSize", before)
