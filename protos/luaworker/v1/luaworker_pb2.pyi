from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Code(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OK: _ClassVar[Code]
    SYNTAX_ERROR: _ClassVar[Code]
    RUNTIME_ERROR: _ClassVar[Code]
    TIMEOUT: _ClassVar[Code]
    MEMORY_LIMIT: _ClassVar[Code]
    BAD_RESULT: _ClassVar[Code]
    BAD_INPUT: _ClassVar[Code]
    CRASHED: _ClassVar[Code]
    SANDBOX_VIOLATION: _ClassVar[Code]
    NEED_SCRIPT: _ClassVar[Code]
    CIRCUIT_OPEN: _ClassVar[Code]
OK: Code
SYNTAX_ERROR: Code
RUNTIME_ERROR: Code
TIMEOUT: Code
MEMORY_LIMIT: Code
BAD_RESULT: Code
BAD_INPUT: Code
CRASHED: Code
SANDBOX_VIOLATION: Code
NEED_SCRIPT: Code
CIRCUIT_OPEN: Code

class Limits(_message.Message):
    __slots__ = ("cpu_ms", "wall_ms", "memory_bytes", "max_output_bytes")
    CPU_MS_FIELD_NUMBER: _ClassVar[int]
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    cpu_ms: int
    wall_ms: int
    memory_bytes: int
    max_output_bytes: int
    def __init__(self, cpu_ms: _Optional[int] = ..., wall_ms: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., max_output_bytes: _Optional[int] = ...) -> None: ...

class Module(_message.Message):
    __slots__ = ("name", "text", "hidden")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_FIELD_NUMBER: _ClassVar[int]
    name: str
    text: bytes
    hidden: bool
    def __init__(self, name: _Optional[str] = ..., text: _Optional[bytes] = ..., hidden: _Optional[bool] = ...) -> None: ...

class ExecuteRequest(_message.Message):
    __slots__ = ("script", "script_sha256", "script_name", "object_json", "limits", "tenant", "request_id", "modules")
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_SHA256_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_NAME_FIELD_NUMBER: _ClassVar[int]
    OBJECT_JSON_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    MODULES_FIELD_NUMBER: _ClassVar[int]
    script: bytes
    script_sha256: bytes
    script_name: str
    object_json: bytes
    limits: Limits
    tenant: str
    request_id: str
    modules: _containers.RepeatedCompositeFieldContainer[Module]
    def __init__(self, script: _Optional[bytes] = ..., script_sha256: _Optional[bytes] = ..., script_name: _Optional[str] = ..., object_json: _Optional[bytes] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., tenant: _Optional[str] = ..., request_id: _Optional[str] = ..., modules: _Optional[_Iterable[_Union[Module, _Mapping]]] = ...) -> None: ...

class ValidateRequest(_message.Message):
    __slots__ = ("script", "script_name", "tenant", "request_id")
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_NAME_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    script: bytes
    script_name: str
    tenant: str
    request_id: str
    def __init__(self, script: _Optional[bytes] = ..., script_name: _Optional[str] = ..., tenant: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ExecuteResponse(_message.Message):
    __slots__ = ("code", "result_json", "message", "traceback", "line", "json_path", "log", "cpu_ms", "wall_ms", "queue_ms", "peak_memory", "backend", "modules")
    CODE_FIELD_NUMBER: _ClassVar[int]
    RESULT_JSON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TRACEBACK_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    JSON_PATH_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    CPU_MS_FIELD_NUMBER: _ClassVar[int]
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_MS_FIELD_NUMBER: _ClassVar[int]
    PEAK_MEMORY_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    MODULES_FIELD_NUMBER: _ClassVar[int]
    code: Code
    result_json: bytes
    message: str
    traceback: str
    line: int
    json_path: str
    log: _containers.RepeatedScalarFieldContainer[str]
    cpu_ms: float
    wall_ms: float
    queue_ms: float
    peak_memory: int
    backend: str
    modules: int
    def __init__(self, code: _Optional[_Union[Code, str]] = ..., result_json: _Optional[bytes] = ..., message: _Optional[str] = ..., traceback: _Optional[str] = ..., line: _Optional[int] = ..., json_path: _Optional[str] = ..., log: _Optional[_Iterable[str]] = ..., cpu_ms: _Optional[float] = ..., wall_ms: _Optional[float] = ..., queue_ms: _Optional[float] = ..., peak_memory: _Optional[int] = ..., backend: _Optional[str] = ..., modules: _Optional[int] = ...) -> None: ...
