from collections.abc import Awaitable

import grpc.aio

from protos.luaworker.v1 import luaworker_pb2 as luaworker

class LuaExecutorStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    Execute: grpc.aio.UnaryUnaryMultiCallable[luaworker.ExecuteRequest, luaworker.ExecuteResponse]
    Validate: grpc.aio.UnaryUnaryMultiCallable[luaworker.ValidateRequest, luaworker.ExecuteResponse]

class LuaExecutorServicer:
    def Execute(self, request: luaworker.ExecuteRequest, context: grpc.aio.ServicerContext[luaworker.ExecuteRequest, luaworker.ExecuteResponse]) -> Awaitable[luaworker.ExecuteResponse]: ...
    def Validate(self, request: luaworker.ValidateRequest, context: grpc.aio.ServicerContext[luaworker.ValidateRequest, luaworker.ExecuteResponse]) -> Awaitable[luaworker.ExecuteResponse]: ...

def add_LuaExecutorServicer_to_server(servicer: LuaExecutorServicer, server: grpc.aio.Server) -> None: ...
