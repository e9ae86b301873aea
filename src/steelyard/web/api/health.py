"""Whether the server lives, whether it can work, and what it has counted."""

from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.responses import Response

from steelyard.store import schema
from steelyard.web.answers import to_bytes
from steelyard.web.documents import Health
from steelyard.web.problems import ProblemError, documented

if TYPE_CHECKING:
    from steelyard.web.service import Service


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["operations"])

    @routes.get("/healthz", response_model=Health, operation_id="health")
    async def health() -> Response:
        """The process answers."""
        return Response(to_bytes({"status": "ok"}), media_type="application/json")

    @routes.get(
        "/readyz",
        response_model=Health,
        operation_id="ready",
        responses={503: documented("store-unavailable")[503]},
    )
    def ready() -> Response:
        """The store answers and has the schema that this server needs."""
        if service.database.version() != schema.VERSION:
            raise ProblemError("store-unavailable", "the store has another schema; run `steelyard db upgrade`")
        return Response(to_bytes({"status": "ok"}), media_type="application/json")

    @routes.get(
        "/metrics",
        operation_id="metrics",
        response_class=Response,
        responses={
            200: {"description": "Counters", "content": {"text/plain": {"schema": {"type": "string"}}}},
            **documented(),
        },
    )
    def metrics() -> Response:
        """Counters for Prometheus."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return Response(generate_latest(service.metrics.shown), media_type=CONTENT_TYPE_LATEST)

    return routes
