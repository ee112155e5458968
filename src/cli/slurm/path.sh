# A login shell ("#!/bin/bash -l") has set a PATH of its own; bash reads this file of BASH_ENV after that.
case ":$PATH:" in
*":$TARN_SLURM:"*) ;;
*) PATH=$TARN_SLURM:$PATH ;;
esac
unset BASH_ENV
