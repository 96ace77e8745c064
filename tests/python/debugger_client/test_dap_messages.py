"""The protocol's framing and requests (cudasim.debugger_client.dap), also where the other side sends nonsense."""

import io
import json
import queue
import socket
import threading

import pytest
from cudasim.debugger_client import dap


def frame(body, header=None):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (header or b"Content-Length: %d\r\n\r\n" % len(data)) + data


def test_a_message_survives_its_encoding():
    message = {"seq": 1, "text": "blöcke ∞", "numbers": [1, 2.5]}
    assert dap.read_message(io.BytesIO(dap.encoded(message))) == message


def test_messages_follow_each_other_and_the_end_is_none():
    stream = io.BytesIO(frame({"a": 1}) + frame({"b": 2}, b"X: y\r\ncontent-length:8\r\n\r\n"))
    assert [dap.read_message(stream), dap.read_message(stream), dap.read_message(stream)] == [
        {"a": 1},
        {"b": 2},
        None,
    ]


@pytest.mark.parametrize(
    "data, words",
    [
        (b"Content-Length: 10\r\n\r\n{}", "within a message"),
        (b"Content-Length: 2\r\n", "within a message"),
        (b"Content-Length: -1\r\n\r\n{}", "length '-1'"),
        (b"Content-Length: two\r\n\r\n{}", "length 'two'"),
        (b"Content-Length: 99999999999\r\n\r\n{}", "99999999999 bytes"),
        (b"X: y\r\n\r\n{}", "no length"),
        (b"x" * 5000, "without an end"),
        (frame(b"{nonsense"), "not JSON"),
        (frame(b"\xff\xfe"), "not JSON"),
        (frame([1, 2]), "no JSON object"),
        (frame(b"[" * 100000), "not JSON"),
    ],
)
def test_what_is_no_message_is_one_clear_error(data, words):
    with pytest.raises(dap.ConnectionLost, match=words):
        dap.read_message(io.BytesIO(data))


@pytest.fixture
def ends():
    """(Connection, its notices, the other end)"""
    ours, theirs = socket.socketpair()
    notices = queue.SimpleQueue()
    connection = dap.Connection(ours, notices)
    yield connection, notices, theirs
    theirs.close()
    connection.close()
    assert ours.fileno() == -1, "the socket of a closed connection is closed"


def answer(theirs, **response):
    with theirs.makefile("rb") as stream:
        request = dap.read_message(stream)
    theirs.sendall(
        dap.encoded(
            {
                "seq": 1,
                "type": "response",
                "request_seq": request["seq"],
                "command": request["command"],
                **response,
            }
        )
    )
    return request


def test_a_response_belongs_to_its_request(ends):
    connection, _, theirs = ends
    first, second = connection.send("one", {"x": 1}), connection.send("two")
    with theirs.makefile("rb") as stream:
        requests = [dap.read_message(stream) for _ in range(2)]
    assert [one["command"] for one in requests] == ["one", "two"]
    assert requests[0]["arguments"] == {"x": 1} and requests[0]["type"] == "request"
    for one in reversed(requests):
        theirs.sendall(
            dap.encoded(
                {
                    "type": "response",
                    "request_seq": one["seq"],
                    "success": True,
                    "body": {"of": one["command"]},
                }
            )
        )
    assert first.result(10) == {"of": "one"} and second.result(10) == {"of": "two"}


def test_a_refusal_is_an_error_with_its_message(ends):
    connection, _, theirs = ends
    future = connection.send("next")
    answer(theirs, success=False, message="no kernel is stopped")
    with pytest.raises(dap.DapError, match="^no kernel is stopped$"):
        future.result(10)


def test_a_refusal_without_a_reason_says_so(ends):
    connection, _, theirs = ends
    future = connection.send("next")
    answer(theirs, success=False)
    with pytest.raises(dap.DapError, match="next failed, without a reason"):
        future.result(10)


@pytest.mark.parametrize("body", [None, [], "text"])
def test_a_body_that_is_no_object_is_empty(ends, body):
    connection, _, theirs = ends
    future = connection.send("next")
    answer(theirs, success=True, body=body)
    assert future.result(10) == {}


def test_events_are_noticed_and_foreign_messages_are_not(ends):
    connection, notices, theirs = ends
    for message in (
        {"type": "response", "request_seq": 99, "success": True},
        {"type": "greeting"},
        {},
        {"type": "event", "event": "stopped"},
    ):
        theirs.sendall(dap.encoded(message))
    assert notices.get(timeout=10) == ("event", {"type": "event", "event": "stopped"})
    assert notices.empty()


def test_a_request_of_the_other_side_is_refused(ends):
    _, _, theirs = ends
    theirs.sendall(dap.encoded({"seq": 7, "type": "request", "command": "runInTerminal"}))
    with theirs.makefile("rb") as stream:
        response = dap.read_message(stream)
    assert not response["success"] and response["request_seq"] == 7 and "runInTerminal" in response["message"]


def test_waiting_requests_fail_when_the_connection_ends(ends):
    connection, notices, theirs = ends
    future = connection.send("evaluate")
    theirs.shutdown(socket.SHUT_RDWR)
    with pytest.raises(dap.ConnectionLost, match="closed the connection"):
        future.result(10)
    kind, error = notices.get(timeout=10)
    assert kind == "lost" and "closed" in str(error)
    with pytest.raises(dap.ConnectionLost):
        connection.request("evaluate")


def test_nonsense_ends_the_connection_with_a_reason(ends):
    connection, notices, theirs = ends
    future = connection.send("evaluate")
    theirs.sendall(b"Content-Length: 5\r\n\r\nhello")
    with pytest.raises(dap.ConnectionLost, match="not JSON"):
        future.result(10)
    assert "not JSON" in str(notices.get(timeout=10)[1])


def test_requests_of_several_threads_do_not_mix(ends):
    connection, _, theirs = ends
    results = {}
    text = "x" * 200_000  # more than the socket takes at once

    def ask(number):
        results[number] = connection.request(f"r{number}", {"text": text})["number"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    with theirs.makefile("rb") as stream:
        for _ in threads:
            request = dap.read_message(stream)
            assert request["arguments"]["text"] == text
            body = {"number": request["command"]}
            theirs.sendall(
                dap.encoded(
                    {"type": "response", "request_seq": request["seq"], "success": True, "body": body}
                )
            )
    for thread in threads:
        thread.join(10)
    assert results == {number: f"r{number}" for number in range(8)}
