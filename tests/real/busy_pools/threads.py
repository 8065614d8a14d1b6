# SPDX-License-Identifier: MIT
"""A thread for each connection: all threads wait for their clients, and the loop waits for a new one."""
import asyncio
import socketserver
import sys
import threading


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(100):
            self.request.sendall(b"answer")


async def client(port, until):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    loop = asyncio.get_running_loop()
    while loop.time() < until:
        writer.write(b"request")
        await reader.read(100)
        await asyncio.sleep(2)
    writer.close()


async def main():
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    until = asyncio.get_running_loop().time() + float(sys.argv[1])
    await asyncio.gather(*[client(server.server_address[1], until) for _ in range(12)])

asyncio.run(main())
