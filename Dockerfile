# The dashboard, the API and the command line in one image; data in the volume /data.
# docker build -t touchstone . && docker run -p 127.0.0.1:8501:8501 -v touchstone:/data touchstone
FROM python:3.11-slim

# Extras by the ends of their files' names: docker build --build-arg EXTRAS="postgres sign-in ocr" .
ARG EXTRAS="postgres sign-in"
WORKDIR /app
COPY requirements*.txt requirements.lock ./
RUN pip install --no-cache-dir -c requirements.lock -r requirements.txt \
    && for extra in $EXTRAS; do pip install --no-cache-dir -c requirements.lock -r "requirements-$extra.txt"; done
COPY app.py pyproject.toml ./
COPY .streamlit/config.toml .streamlit/config.toml
COPY data data
COPY pages pages
COPY rag rag

# The program belongs to root: who breaks into it cannot change it.
RUN useradd --uid 10001 --create-home touchstone \
    && install --directory --owner touchstone --group touchstone --mode 0700 /data
USER touchstone
# Other names, such as that of a proxy: docker run -e TOUCHSTONE_HOSTS=kb.example.org.
ENV TOUCHSTONE_HOME=/data \
    TOUCHSTONE_HOSTS=localhost \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/healthz', timeout=4)"]
CMD ["streamlit", "run", "app.py", "--server.address", "0.0.0.0", "--server.headless", "true"]
