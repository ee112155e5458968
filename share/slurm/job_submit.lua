-- SPDX-License-Identifier: Apache-2.0
-- Gives the jobs of some partitions to tarn: each is held when it is submitted, and tarn releases it
-- to its nodes when it is its turn. Copy it into the folder of slurm.conf, set JobSubmitPlugins=lua
-- there and `slurm: {partition: ..., adopt: true}` in the configuration of tarn. If you have such a
-- file already, call tarn_hold() at the end of its slurm_job_submit(), and return what tarn_modify()
-- returns at the end of its slurm_job_modify().

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

-- A release would let a job pass those that wait in tarn. A job that moves to such a partition is
-- held as if it were submitted there.
function tarn_modify(job, record, uid)
    if uid == tarn_uid or uid == 0 then
        return slurm.SUCCESS
    end
    local is_moved = job.partition ~= nil and job.partition ~= ""
    local is_raised = job.priority ~= nil and job.priority ~= slurm.NO_VAL and job.priority ~= 0
    if not is_given(is_moved and job.partition or record.partition) then
        return slurm.SUCCESS
    end
    if is_raised then
        slurm.log_user("the priority of a job in this partition cannot be set: tarn releases it when it is its turn")
        return slurm.ESLURM_ACCESS_DENIED
    end
    if is_moved and not is_given(record.partition) then
        job.priority = 0
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job, record, partition_list, uid)
    return tarn_modify(job, record, uid)
end

return slurm.SUCCESS
