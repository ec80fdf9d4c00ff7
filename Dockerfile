# MCP Knowledge for a container: the embedded database by default, a part of a larger service with other settings
# (compose.local.yaml, compose.yaml; docs/scaling.md). docs/releasing.md: for two processors, with traces, by digest.
# Where no container engine runs, `make prove-image` carries these steps out and tries what they made.

# Two builds of one commit install the same bytes: every package has its hash. `--build-arg PYTHON_IMAGE=python@sha256:…`
# also holds the base.
ARG PYTHON_IMAGE=python:3.11.15-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
# `otel` also installs what sends traces.
ARG EXTRA=
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
# The environment that ships has no pip of its own: the build's installs into it. Nothing is compiled: there is a wheel for all.
RUN python -m venv --without-pip /app && python -m venv /build/tools
COPY requirements/ requirements/
# Bytecode without the times of files: the same at every build. olefile2.py is in the language of Python 2.
RUN pip --python /app/bin/python install --no-compile --only-binary=:all: --require-hashes -r "requirements/${EXTRA:-runtime}.txt" \
 && tools/bin/pip install --only-binary=:all: --require-hashes -r requirements/build.txt \
 && /app/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash -x olefile2 /app/lib
COPY pyproject.toml README.md LICENSE ./
COPY src/ src/
RUN tools/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
 && pip --python /app/bin/python install --no-compile --no-deps --no-index --prefix /own dist/*.whl \
 && /app/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash -s /own -p /app /own/lib

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="MCP Knowledge" \
      org.opencontainers.image.description="Private document retrieval over MCP, REST and a dashboard" \
      org.opencontainers.image.version="0.5.0" \
      org.opencontainers.image.licenses="MIT AND Apache-2.0"
# Written by hand, as useradd notes the day. What installs packages is of no use here.
RUN echo "knowledge:x:10001:10001::/data:/usr/sbin/nologin" >> /etc/passwd \
 && echo "knowledge:x:10001:" >> /etc/group \
 && mkdir -p /data/documents && chown -R 10001:10001 /data && chmod 700 /data /data/documents \
 && PYTHONDONTWRITEBYTECODE=1 python -m pip uninstall --yes --quiet --root-user-action=ignore pip setuptools wheel
# What it needs, and in a layer of its own, for this is what changes, the package.
COPY --from=build /app /app
COPY --from=build /own /app
# Uploads are kept below /data, and with STORAGE_DRIVER=local the originals too.
ENV PATH=/app/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
WORKDIR /data
USER 10001:10001
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
# A sign of life only: what the database or the storage is at shows /ready. It asks where HOST and PORT say, as 0.0.0.0 and ::
# are this machine to Linux, and no proxy of the environment.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-c", "import http.client, os, sys; \
http = http.client.HTTPConnection(os.environ['HOST'], os.environ['PORT'], timeout=4); \
http.request('GET', '/health', headers={'Host': 'localhost'}); sys.exit(http.getresponse().status != 200)"]
ENTRYPOINT ["mcp-knowledge"]
CMD ["serve"]
