"""What a notebook shows of an error."""

from IPython.core.interactiveshell import InteractiveShell


def test_in_a_notebook_an_error_names_the_line_of_its_cell():
    cell = (
        "import numpy as np\n"
        "from gpulearn import cuda\n"
        "@cuda.jit\n"
        "def double(a):\n"
        "    a[cuda.grid(1)] *= 2\n"
        "double[1, 32](np.ones(32))\n"
        "double[1, 32]([1, 2, 3])\n"
    )
    shell = InteractiveShell.instance()
    try:
        error = shell.run_cell(cell).error_in_exec
        assert "has the type list" in str(error)
        assert error._render_traceback_()[-1] == "in line 7: double[1, 32]([1, 2, 3])"
        alone = shell.run_cell("double[1, 32]([1, 2, 3])").error_in_exec
        assert "in line" not in alone._render_traceback_()[-1]
        beyond = shell.run_cell("more = 64\ndouble[1, more](np.ones(32))").error_in_exec
        assert "line 5: " in str(beyond)  # the kernel's, which says more than the launch's
        assert "in line" not in beyond._render_traceback_()[-1]
    finally:
        InteractiveShell.clear_instance()
