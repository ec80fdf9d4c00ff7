# MCP Knowledge for a container: the embedded database by default, a part of a larger service with other settings
# (compose.local.yaml, compose.yaml; docs/scaling.md).

FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
# The environment that ships has no pip of its own: the build's installs into it.
RUN python -m venv --without-pip /app && python -m venv /build/tools
COPY requirements/ requirements/
RUN pip --python /app/bin/python install --require-hashes -r requirements/runtime.txt \
 && tools/bin/pip install --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY src/ src/
RUN tools/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
 && pip --python /app/bin/python install --no-deps --no-index dist/*.whl

FROM python:3.11-slim-bookworm
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin knowledge \
 && mkdir -p /data/documents && chown -R knowledge:knowledge /data
COPY --from=build /app /app
# Uploads are kept below /data, and with STORAGE_DRIVER=local the originals too.
ENV PATH=/app/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
WORKDIR /data
USER 10001:10001
VOLUME /data
EXPOSE 3000
# A sign of life only: what the database or the storage is at shows /ready.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-c", \
 "import os, urllib.request as web; web.urlopen('http://127.0.0.1:' + os.environ['PORT'] + '/health', timeout=4)"]
ENTRYPOINT ["mcp-knowledge"]
CMD ["serve"]
