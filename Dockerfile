# Four images of one source: `service` speaks HTTP and has no Triton, `worker` compiles, `worker-gpu`
# also launches on the NVIDIA GPUs that its container is given, and `worker-gpu-torch` also takes
# programs and references in torch.
#   docker build --target service --tag tritond-service .
#   docker build --target worker --tag tritond-worker .
#   docker build --target worker-gpu --tag tritond-worker-gpu .
#   docker build --target worker-gpu-torch --tag tritond-worker-gpu-torch .
# None holds a secret; all run as an ordinary user and write nothing outside /tmp.
# All inputs are pinned: the image by its digest, each package of PyPI by the hashes in requirements/.
# `make test-images` builds the first three with podman, and runs them.

# A newer one: docker buildx imagetools inspect python:3.11-slim-bookworm
ARG PYTHON_IMAGE=python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

# The web page, with the Node of a wheel from PyPI; nothing of it but the page goes on.
FROM ${PYTHON_IMAGE} AS page
WORKDIR /source
COPY requirements requirements
COPY page page
RUN page/build.sh

# Our own wheel; what builds it goes into no image.
FROM ${PYTHON_IMAGE} AS wheel
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
COPY requirements requirements
RUN pip install --require-hashes -r requirements/build.txt
COPY . .
COPY --from=page /source/service/page/built service/page/built
RUN python -m hatchling build -t wheel -d /wheels

FROM ${PYTHON_IMAGE} AS service-environment
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/tritond
COPY requirements requirements
RUN /opt/tritond/bin/pip install --require-hashes -r requirements/service.txt \
    -r requirements/blobs.txt -r requirements/otel.txt
COPY --from=wheel /wheels /wheels
RUN /opt/tritond/bin/pip install --no-deps /wheels/*.whl

# On top of the other environment, so that both images have the same versions of what they share.
FROM service-environment AS worker-environment
RUN /opt/tritond/bin/pip install --require-hashes -r requirements/worker.txt

FROM worker-environment AS gpu-environment
RUN /opt/tritond/bin/pip install --require-hashes -r requirements/gpu.txt

FROM gpu-environment AS torch-environment
RUN /opt/tritond/bin/pip install --require-hashes -r requirements/torch.txt

FROM ${PYTHON_IMAGE} AS runtime
RUN groupadd --gid 10001 tritond \
    && useradd --uid 10001 --gid tritond --no-create-home --home-dir /nonexistent \
        --shell /usr/sbin/nologin tritond
ENV PATH=/opt/tritond/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /
USER 10001:10001
# .github/workflows/release.yml sets these
ARG VERSION=unreleased
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION \
    org.opencontainers.image.source=$SOURCE \
    org.opencontainers.image.licenses=Apache-2.0

FROM runtime AS service
LABEL org.opencontainers.image.title=tritond-service
COPY --from=service-environment /opt/tritond /opt/tritond
EXPOSE 8000
# readyz: this process answers and reaches the store; whether workers are there is another question
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 CMD ["python", "-c", \
    "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
# Listens on every address of the container, so it refuses to start without TRITOND_ADMIN_KEY or
# an API key made before.
CMD ["tritond", "api", "--host", "0.0.0.0", "--port", "8000"]

FROM runtime AS worker-runtime
# A worker has no port. It is healthy once the store knows it: its sandbox holds, and it has heartbeats.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python", "-P", "-m", "worker.probe"]
CMD ["tritond", "worker"]

FROM worker-runtime AS worker
LABEL org.opencontainers.image.title=tritond-worker
COPY --from=worker-environment /opt/tritond /opt/tritond

FROM worker-runtime AS gpu-runtime
# NVIDIA's Container Toolkit on the host adds these to the container: GPUs, driver and NVML.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility

FROM gpu-runtime AS worker-gpu
LABEL org.opencontainers.image.title=tritond-worker-gpu
COPY --from=gpu-environment /opt/tritond /opt/tritond

FROM gpu-runtime AS worker-gpu-torch
LABEL org.opencontainers.image.title=tritond-worker-gpu-torch
COPY --from=torch-environment /opt/tritond /opt/tritond
