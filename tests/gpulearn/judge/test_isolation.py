"""Calls of a function are told where it is called, in the thread that asks, and nothing stays."""

import functools
import inspect
import threading

import pytest

from gpulearn.judge.isolation import layers, told_of_calls


def halved(number, *, times=1):
    """Half of it, or less."""
    return number / 2 if times == 1 else halved(halved(number), times=times - 1)


def test_each_call_is_told_with_its_place_and_gives_what_it_gives():
    callers = []
    code = halved.__code__
    with told_of_calls([halved], lambda frame: callers.append(frame.f_back.f_code.co_name)):
        assert halved(6) == 3
        assert halved(number=8, times=2) == 2
        assert inspect.getsourcefile(halved) == __file__
    assert callers[0] == callers[1] == inspect.currentframe().f_code.co_name
    assert callers.count("halved") == 2
    assert halved.__code__ is code
    assert halved(2) == 1
    assert len(callers) == 4


def adder(amount):
    def add(number, more=1):
        return number + amount + more

    return add


def test_a_closure_keeps_its_values_and_an_exception_goes_through():
    add, told = adder(10), []
    with told_of_calls([add], told.append):
        assert add(1) == 12
        assert add(1, more=2) == 13
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            add()
    assert len(told) == 3
    assert adder(1)(1) == 3


def test_two_who_listen_are_both_told_and_the_first_may_leave_first():
    one, two = [], []
    code = halved.__code__
    first, second = told_of_calls([halved], one.append), told_of_calls([halved], two.append)
    first.__enter__()
    second.__enter__()
    halved(1)
    first.__exit__(None, None, None)
    halved(1)
    second.__exit__(None, None, None)
    halved(1)
    assert (len(one), len(two)) == (1, 2)
    assert halved.__code__ is code


def test_another_threads_calls_are_its_own():
    told = []
    with told_of_calls([halved], told.append):
        thread = threading.Thread(target=halved, args=(1,))
        thread.start()
        thread.join()
    assert told == []


def test_layers_are_found_from_outside_in():
    @functools.wraps(halved)
    def around(*args):
        return halved(*args)

    assert layers(around) == [around, halved]
    assert layers(print) == layers(None) == []
