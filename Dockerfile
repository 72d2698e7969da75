# One image for both parties: the command says which. `--target holder` has the holder alone, without the auditor's side
# and the demonstration; `--target spark` has a Java runtime and Spark besides, for a holder on a cluster and its workers.
# Built without network access at run time and run as a user without rights.
# Behind a proxy with an authority of its own: --secret id=ca,src=BUNDLE.
# In production name the base by its digest, so that it does not change: --build-arg PYTHON_IMAGE=python:3.11-slim@sha256:…
ARG PYTHON_IMAGE=python:3.11-slim

# The holder's packages, which every image has: requirements/runtime.txt has the same versions.
FROM ${PYTHON_IMAGE} AS packages
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python3 -m venv /opt/pafer
COPY requirements/holder.txt /src/requirements/
RUN --mount=type=secret,id=ca,target=/etc/ssl/certs/ca-certificates.crt,required=false \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt /opt/pafer/bin/pip install --require-hashes -r /src/requirements/holder.txt

FROM packages AS build-holder
COPY pyproject.toml README.md LICENSE /src/
COPY shared /src/shared
COPY holder_service /src/holder_service
RUN /opt/pafer/bin/pip install --no-index --no-deps --no-build-isolation /src && rm /opt/pafer/bin/auditor

FROM packages AS build
COPY requirements/runtime.txt /src/requirements/
RUN --mount=type=secret,id=ca,target=/etc/ssl/certs/ca-certificates.crt,required=false \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt /opt/pafer/bin/pip install --require-hashes -r /src/requirements/runtime.txt
COPY pyproject.toml README.md LICENSE /src/
COPY shared /src/shared
COPY holder_service /src/holder_service
COPY auditor_client /src/auditor_client
COPY pafer_demo /src/pafer_demo
RUN /opt/pafer/bin/pip install --no-index --no-deps --no-build-isolation /src

FROM build AS build-spark
COPY requirements/spark.txt /src/requirements/
RUN --mount=type=secret,id=ca,target=/etc/ssl/certs/ca-certificates.crt,required=false \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt /opt/pafer/bin/pip install --require-hashes -r /src/requirements/spark.txt

# What every image has, whatever is installed in it.
FROM ${PYTHON_IMAGE} AS runtime
ENV PATH=/opt/pafer/bin:$PATH PYTHONUNBUFFERED=1 HOLDER_HOME=/var/lib/pafer/holder HOLDER_ANCHOR=/var/lib/pafer/anchor/head
RUN useradd --system --uid 10001 --home-dir /var/lib/pafer --create-home pafer \
    && install --directory --mode=0700 --owner=pafer --group=pafer /var/lib/pafer/holder /var/lib/pafer/anchor /var/lib/pafer/backups /var/lib/pafer/keys /var/lib/pafer/reports \
        /var/lib/pafer/store /var/lib/pafer/witness
WORKDIR /var/lib/pafer
EXPOSE 8080
# Of `holder serve`; other commands of the image end, or state a check of their own.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz', timeout=8)"]
# docker build --build-arg VERSION=0.2.0 --build-arg REVISION=$(git rev-parse HEAD) .
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="PAFER" \
    org.opencontainers.image.description="Audit decisions for fairness without handing over sensitive attributes" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.revision="$REVISION"
CMD ["holder", "serve", "--host", "0.0.0.0", "--port", "8080"]

FROM runtime AS spark
RUN command -v java >/dev/null \
    || { apt-get update && apt-get install --yes --no-install-recommends default-jre-headless && rm -rf /var/lib/apt/lists/*; }
COPY --from=build-spark /opt/pafer /opt/pafer
ENV PYSPARK_PYTHON=/opt/pafer/bin/python SPARK_WORKER_DIR=/tmp/work
HEALTHCHECK NONE
USER pafer

FROM runtime AS holder
COPY --from=build-holder /opt/pafer /opt/pafer
USER pafer

FROM runtime
COPY --from=build /opt/pafer /opt/pafer
USER pafer
