-- SPDX-License-Identifier: Apache-2.0
-- Gives the jobs of some partitions to tarn: each is held when it is submitted, and tarn releases it
-- to its nodes when it is its turn. Copy it into the folder of slurm.conf, set JobSubmitPlugins=lua
-- there and `slurm: {partition: ..., adopt: true}` in the configuration of tarn. If you have such a
-- file already, call tarn_hold() at the end of its slurm_job_submit().

local partitions = { gpu = true }   -- those given to tarn
local is_default_among_them = true  -- whether Slurm's default partition is one of them
local tarn_uid = 0                  -- the user that the daemon of tarn runs as

local function is_given(names)
    if names == nil or names == "" then
        return is_default_among_them
    end
    for name in string.gmatch(names, "[^,]+") do
        if partitions[name] then
            return true
        end
    end
    return false
end

-- A job that tarn submits itself has its mark in the comment, and is not held.
local function is_of_tarn(job, uid)
    return uid == tarn_uid and job.comment ~= nil and string.sub(job.comment, 1, 5) == "tarn="
end

-- A component of a job of tarn (see doc/engines/slurm.md).
local function is_component_of_tarn(job, uid)
    return uid == tarn_uid and job.comment == "a component of a job of tarn"
end

function tarn_hold(job, uid)
    if is_given(job.partition) and not is_of_tarn(job, uid) and not is_component_of_tarn(job, uid) then
        job.priority = 0
    end
end

function slurm_job_submit(job, partition_list, uid)
    tarn_hold(job, uid)
    return slurm.SUCCESS
end

function slurm_job_modify(job, record, partition_list, uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
