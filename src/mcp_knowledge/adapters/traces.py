"""Whether traces are asked for, and the tracer that makes them."""

import asyncio
import importlib.util
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mcp_knowledge.ports.tracing import Tracer

log = logging.getLogger(__name__)

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_SPOKEN = "http/protobuf"
_EXTRA = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


def wanted_by(environment: Mapping[str, str]) -> str | None:
    """The OpenTelemetry variable that asks for traces; None when none does, or another one says no."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    exporters = [item.strip().lower() for item in environment.get("OTEL_TRACES_EXPORTER", "").split(",") if item]
    if exporters and "otlp" not in exporters:
        return None
    present = [name for name in _ENDPOINTS if environment.get(name, "").strip()]
    return present[0] if present else "OTEL_TRACES_EXPORTER" if exporters else None


@asynccontextmanager
async def open_tracer(version: str) -> AsyncIterator[Tracer | None]:
    """The tracer that the environment asks for. What keeps it from working is said in the log, and nothing is traced:
    these variables are often set for every program of a machine.

    Args:
        version: of this program, which its traces tell.
    """
    variable = wanted_by(os.environ)
    if variable is None:
        yield None
        return
    if not all(map(_installed, _EXTRA)):
        log.warning(
            "%s is set, but traces need packages that are not installed: pip install 'mcp-knowledge[otel]'", variable
        )
        yield None
        return
    protocol = next((os.environ[name] for name in _PROTOCOLS if os.environ.get(name)), _SPOKEN)
    if protocol != _SPOKEN:
        log.warning("Traces are sent as %s: the protocol that is asked for is not supported", _SPOKEN)

    from mcp_knowledge.adapters.otel import OtelTracer

    try:
        tracer = OtelTracer(version)
    except Exception as error:
        log.warning("Nothing is traced, as the OTEL variables do not fit: %s", error)
        yield None
        return
    log.info("Traces are sent, as %s asks for", variable)
    try:
        yield tracer
    finally:
        await asyncio.to_thread(tracer.close)


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:  # not even what it is in
        return False
