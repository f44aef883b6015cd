"""A foreign client: knows the .proto by reflection alone, creates a session, submits, watches until the result."""

import sys

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase


def main(socket: str, folder: str) -> None:
    # grpcio sends the socket's path as authority, which HTTP/2 servers refuse: set it.
    channel = grpc.insecure_channel(f"unix:{socket}", options=[("grpc.default_authority", "localhost")])
    pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(channel))

    def method(service: str, name: str):
        found = pool.FindServiceByName(f"agent.v1.{service}").FindMethodByName(name)
        request = message_factory.GetMessageClass(found.input_type)
        answer = message_factory.GetMessageClass(found.output_type)
        call = channel.unary_stream if found.server_streaming else channel.unary_unary
        return request, call(f"/agent.v1.{service}/{name}", request.SerializeToString, answer.FromString)

    request, create = method("Sessions", "CreateSession")
    session = create(request(meta={"cwd": folder, "model": "rehearsal", "permission_mode": "PERMISSION_MODE_DEFAULT"})).session
    request, subscribe = method("Events", "Subscribe")
    stream = subscribe(request(session_id=session.id, from_seq=0, partials=True))
    snapshot = next(stream)
    assert snapshot.WhichOneof("item") == "snapshot", snapshot
    request, submit = method("Queue", "Submit")
    receipt = submit(request(session_id=session.id, content=[{"text": {"text": "hello"}}], priority="PRIORITY_NEXT"))
    assert receipt.seq > 0
    last, deltas = 0, 0
    for item in stream:
        kind = item.WhichOneof("item")
        if kind == "delta":
            deltas += 1
        if kind == "event":
            assert item.event.seq == last + 1, (item.event.seq, last)
            last = item.event.seq
            if item.event.WhichOneof("body") == "result":
                break
    assert deltas > 0
    print(f"python client: {last} events, {deltas} deltas")


main(sys.argv[1], sys.argv[2])
