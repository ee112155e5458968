-N2 --ntasks-per-node=4 --gpus-per-node=8 --mem-per-cpu 2G -c4 --export=ALL,A=1 --nice -Hb now+1hour --dependency=afterany:1:2,after:3
#!/bin/sh
#SBATCH --mem 0 --env A=2 -J 'x y'
