"""The floor that the holder's own work stands on: the same framework and server, and a constant answer."""

from fastapi import FastAPI, Request, Response

app = FastAPI()
_ANSWER = b'{"counts": "' + b"0" * 3000 + b'"}'


@app.get("/readyz")
async def ready() -> dict[str, str]:
    """Answer like the holder."""
    return {"status": "ready"}


@app.post("/v1/datasets/register/releases")
async def answer(request: Request) -> Response:
    """Read a plan's JSON and answer as many bytes as a release has."""
    await request.json()
    return Response(_ANSWER, 201, media_type="application/json")
