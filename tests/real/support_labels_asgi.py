# SPDX-License-Identifier: MIT
#
# An ASGI application of Starlette with a label for each request. A child task of /slow blocks the loop.

import asyncio
import time

from hangdog_labels import label
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


class Labels:
    def __init__(self, served):
        self.served = served

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            label("%s %s" % (scope["method"], scope["path"]), dict(scope["headers"]).get(b"traceparent", b"").decode("latin-1"))
        await self.served(scope, receive, send)


async def compute():
    await asyncio.sleep(0.1)
    time.sleep(0.8)


async def slow(_request):
    await asyncio.gather(compute(), asyncio.sleep(0.05))
    return PlainTextResponse("slow")


async def quick(_request):
    await asyncio.sleep(0.01)
    return PlainTextResponse("quick")


app = Labels(Starlette(routes=[Route("/slow", slow), Route("/quick", quick)]))
