"""Calls of a function are told where it is called, in the thread that asks, and nothing stays."""

import functools
import inspect
import sys
import threading

from gpulearn.judge.isolation import layers, told_of_calls


def halved(number):
    """Half of it."""
    return number / 2


def test_each_call_is_told_with_its_place_to_all_who_listen():
    callers, others = [], []
    with told_of_calls([halved.__code__], lambda frame: callers.append(frame.f_back.f_code)):
        halved(6)
        with told_of_calls([halved.__code__], others.append):
            halved(8)
    halved(2)
    assert callers == [inspect.currentframe().f_code] * 2
    assert len(others) == 1
    assert sys.getprofile() is None


def test_another_threads_calls_are_its_own():
    told = []
    with told_of_calls([halved.__code__], told.append):
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
