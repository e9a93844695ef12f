"""`python -m gpulearn`: what this machine has; or `run`, `grade`, `course`, `exercise`."""

import sys


def main() -> int:
    """A command and what follows it, or the report of `gpulearn.machine_report`."""
    match sys.argv[1:]:
        case ["run", *arguments]:
            from simt.programs import command_line as run

            return run.main(arguments)
        case ["grade", *arguments]:
            from gpulearn_grading import command_line as grade

            return grade.main(arguments)
        case ["course", *arguments]:
            from gpulearn_grading.course import command_line as course

            return course.main(arguments)
        case ["exercise", *arguments]:
            from gpulearn.judge import command_line as exercise

            return exercise.main(arguments)
    from gpulearn.machine_report import main as report

    return report()


if __name__ == "__main__":
    sys.exit(main())
