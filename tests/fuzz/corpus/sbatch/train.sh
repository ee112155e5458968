
#!/bin/bash
#SBATCH -J train -p gpu -A nlp --qos=normal
#SBATCH --gpus=h100:2 --cpus-per-gpu=8 --mem=64G      # or --gres=gpu:h100:2
#SBATCH -t 04:00:00 --time-min=01:00:00
#SBATCH --signal=B:USR1@120 --requeue --comment="a b"
#SBATCH --array=0-99%8 --dependency=afterok:1234
#SBATCH -o logs/%x-%A_%a.out
srun python train.py
#SBATCH -n 3
