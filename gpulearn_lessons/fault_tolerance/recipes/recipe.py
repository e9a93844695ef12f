"""Recipes that start a training run on a cluster: Slurm scripts, manifests, a shell script.

Each is a file in this folder, to be copied and adapted. All start torchrun with
`gpulearn_lessons.fault_tolerance.train`, which any program with the same options can replace.
"""

from importlib import resources

from gpulearn.require import choice

RECIPES = {
    "slurm_one_node": "slurm_one_node.sbatch",
    "slurm_nodes": "slurm_nodes.sbatch",
    "slurm_requeue": "slurm_requeue.sbatch",
    "kubernetes_job": "kubernetes_job.yaml",
    "kubernetes_elastic": "kubernetes_elastic.yaml",
    "ssh_nodes": "ssh_nodes.sh",
}


def recipe(name: str) -> str:
    """The text of a recipe.

    Args:
        name: "slurm_one_node", "slurm_nodes", "slurm_requeue" (stops before the time limit and
            goes back into the queue), "kubernetes_job", "kubernetes_elastic" or "ssh_nodes".

    >>> print(recipe("slurm_nodes").splitlines()[3])
    #SBATCH --nodes=2
    """
    file = RECIPES[choice("recipe", name, RECIPES)]
    return resources.files(__package__).joinpath(file).read_text(encoding="utf-8")
