/* SPDX-License-Identifier: Apache-2.0 */
/* tarn import slurm: the files of a site become a configuration and a report. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/config/config.h"
#include "wire/json.h"
#include "wire/slurm/slurm_files.h"
#include "wire/slurm/slurm_import.h"

struct made {
    struct text config, report;
    struct error err;
    int code;
};

/* The texts of the files; NULL: there is none. */
struct files {
    const char *conf, *gres, *topology, *accounts, *qos, *included, *partition;
    bool is_listing;
};

static int include(void *user, const char *path, struct slurm_source *ret, struct error *err)
{
    const struct files *files = user;

    if (!files->included)
        return error_set(err, -ENOENT, "%s: no such file", path);
    *ret = (struct slurm_source){ "other.conf", files->included };
    return 0;
}

static struct made try(struct files files)
{
    struct slurm_import from = { .conf = { "slurm.conf", files.conf },
                                 .gres = { "gres.conf", files.gres },
                                 .topology = { "topology.conf", files.topology },
                                 .accounts = { "accounts", files.accounts },
                                 .qos = { "qos", files.qos },
                                 .is_listing = files.is_listing,
                                 .partition = files.partition,
                                 .include = include,
                                 .user = &files };
    struct made made = { .code = 0 };

    made.code = slurm_import(&from, &made.config, &made.report, &made.err);
    return made;
}

/* It is a configuration of tarn. */
static void check(const struct made *made)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;
    AUTO(config) struct config *config = NULL;
    struct error err;

    if (yaml_parse(made->config.bytes, made->config.length, "made", &document, &lines, &err) < 0 ||
        config_parse(document, lines, "made", &config, &err) < 0)
        fail_msg("%s\nin:\n%s", err.text, text_string(&made->config));
}

static struct made import(struct files files)
{
    struct made made = try(files);

    if (made.code < 0)
        fail_msg("%s", made.err.text);
    check(&made);
    return made;
}

static void release(struct made *made)
{
    text_release(&made->config);
    text_release(&made->report);
}

static void expect(const struct text *text, const char *words)
{
    if (!strstr(text_string(text), words))
        fail_msg("not found: %s\nin:\n%s", words, text_string(text));
}

static void expect_not(const struct text *text, const char *words)
{
    if (strstr(text_string(text), words))
        fail_msg("found: %s\nin:\n%s", words, text_string(text));
}

static void test_lines_of_conf(void **state)
{
    struct slurm_source source = { "c", "# none\nA=1 b = \"x y\" # c\nInclude \\\n file\n\nC==\n"
                                        "D=\\# e+=5\n" };
    struct slurm_lines lines;
    struct error err;

    (void)state;
    assert_int_equal(slurm_lines_of_conf(&source, &lines, &err), 0);
    assert_int_equal(lines.all.count, 4);
    assert_string_equal(slurm_line_get(&lines.all.items[0], "B"), "x y");
    assert_int_equal(lines.all.items[1].number, 3);
    assert_string_equal(slurm_line_get(&lines.all.items[1], "include"), "file");
    assert_string_equal(slurm_line_get(&lines.all.items[2], "C"), "=");
    assert_string_equal(slurm_line_get(&lines.all.items[3], "D"), "#");
    assert_string_equal(slurm_line_get(&lines.all.items[3], "e"), "5");
    slurm_lines_release(&lines);
}

static void test_sets_of_nodes(void **state)
{
    struct made made =
        import((struct files){ .conf = "NodeSet=big Feature=h100\n"
                                       "NodeSet=two Nodes=n[2-3]\n"
                                       "NodeSet=none Feature=a100\n"
                                       "NodeName=DEFAULT Feature=ib\n"
                                       "NodeName=n[1-2] Feature=ib,h100 Gres=gpu:h100:8\n"
                                       "NodeName=n3 Features=h100,h1000 Gres=gpu:h100:8\n"
                                       "NodeName=n[4-5] Gres=gpu:h100:8\n"
                                       "NodeSet=wired Feature=ib\n"
                                       "PartitionName=all Nodes=n[1-5] Default=YES MaxTime=800-0\n"
                                       "PartitionName=a Nodes=big\n"
                                       "PartitionName=b Nodes=two,big,n5\n"
                                       "PartitionName=c Nodes=wired\n"
                                       "PartitionName=d Nodes=none,n1\n" });
    (void)state;

    expect(&made.config, "  a: {nodes: [n1, n2, n3]}\n");
    expect(&made.config, "  b: {nodes: [n2, n3, n1, n5]}\n");
    expect(&made.config, "  c: {nodes: [n1, n2, n4, n5]}\n");
    expect(&made.config, "  d: {nodes: [n1]}\n");
    expect(&made.report, "slurm.conf:3: NodeSet=none: no node of the file belongs to this set");
    expect(&made.report, "slurm.conf:9: MaxTime=800-0: longer than a year: no limit");
    expect_not(&made.report, "outside");
    release(&made);
    made = import((struct files){ .conf = "NodeName=n[1-4]\nNodeSet=some Nodes=n[1-2]\n"
                                          "PartitionName=y Nodes=some Default=YES\n"
                                          "PartitionName=z Nodes=n2\nPartitionName=x Nodes=n3\n" });
    expect(&made.config, "pools:\n  z: {nodes: [n2]}\n");
    expect(&made.report, "x: it has nodes outside of partition y");
    release(&made);
    made = try((struct files){ .conf = "NodeSet=some\nPartitionName=y Nodes=some\n" });
    assert_int_equal(made.code, -EBADMSG);
    assert_string_equal(made.err.text, "slurm.conf:1: NodeSet=some: expected Nodes=NODES or "
                                       "Feature=NAME beside it");
    release(&made);
}

static void test_hosts(void **state)
{
    static const struct {
        const char *words, *expanded;
    } good[] = {
        { "login", "login" },
        { "n[08-10,3]", "n08 n09 n10 n3" },
        { "a,n[1-2],b", "a n1 n2 b" },
        { "r[1-2]n[0-1]-ib", "r1n0-ib r1n1-ib r2n0-ib r2n1-ib" },
    };
    static const char *const bad[] = { "n[1-", "n[2-1]", "n[]",    "n]",      ",a",
                                       "n[a]", "n[1,]",  "n[1-2,", "n[1--2]", "n[0-99999]",
                                       "a b",  "n{",     "n[1-2]:" };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(good); i++) {
        AUTO_RELEASE(slurm_hosts) struct slurm_hosts hosts = { 0 };
        AUTO_RELEASE(text) struct text all = { 0 };
        struct error err;
        assert_int_equal(slurm_hosts_add(&hosts, good[i].words, &err), 0);
        LIST_EACH (char *, name, &hosts.all)
            text_printf(&all, "%s%s", all.length > 0 ? " " : "", *name);
        assert_string_equal(text_string(&all), good[i].expanded);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        AUTO_RELEASE(slurm_hosts) struct slurm_hosts hosts = { 0 };
        struct error err;
        if (slurm_hosts_add(&hosts, bad[i], &err) != -EBADMSG)
            fail_msg("accepted: %s", bad[i]);
        assert_non_null(strstr(err.text, ": expected "));
    }
}

static void test_partitions_and_settings(void **state)
{
    struct made made = import((struct files){
        .conf =
            "PriorityDecayHalfLife=14-0\nSchedulerType=sched/builtin PriorityDecayHalfLife=7-0\n"
            "PriorityWeightAge=5\nPriorityWeightQOS="
            "0\nPreemptType=preempt/none\n"
            "NodeName=a Gres=gpu:4\nNodeName=b[1-3] Gres=gpu:h100:4\n"
            "PartitionName=DEFAULT MaxTime=2-0\nPartitionName=x Nodes=a,b1\n"
            "PartitionName=y Nodes=b[1-3] Default=YES PriorityTier=2\n"
            "PartitionName=z Nodes=b[1,3] MaxTime=30\n",
        .accounts = "Account - 'lab':Fairshare=3\n" });

    (void)state;
    expect(&made.config, "slurm: {partition: y}\n");
    expect(&made.config, "pools:\n  z: {nodes: [b1, b3]}\n");
    expect(&made.config, "fair_share: {half_life: 10080m}\n");
    expect(&made.config, "backfill: none\n");
    expect(&made.config, "queues:\n  lab:\n    weight: 3\n    longest_duration: 2880m\n");
    expect(&made.report, "slurm.conf:3: PriorityWeightAge=5: ");
    expect(&made.report, "slurm.conf:6: Gres=gpu:4: ");
    expect(&made.report, "slurm.conf:9: x: it has nodes outside of partition y");
    expect(&made.report, "slurm.conf:10: PriorityTier=2: ");
    expect(&made.report, "slurm.conf:11: MaxTime=30: a pool has no time limit");
    expect_not(&made.report, "slurm.conf:4");
    expect_not(&made.report, "slurm.conf:5");
    expect_not(&made.report, "slurm.conf:7");
    release(&made);
}

static void test_accounts_are_queues(void **state)
{
    struct made made = import((struct files){
        .conf = "PartitionName=p\n",
        .accounts = "Cluster - 'c':Fairshare=1\nParent - 'root'\n"
                    "Account - 'uni':Fairshare=7:GrpTRES=cpu=64,mem=512G,gres/gpu:h100=4,node=2\n"
                    "Parent - 'uni'\nAccount - 'lab':Fairshare=parent:QOS='fast':GrpJobs=3\n"
                    "User - 'boss':Fairshare=1\nParent - 'lab'\nUser - 'ana':Fairshare=2\n"
                    "User - 'bob':GrpTRES=gres/gpu=1:QOS='fast'\n"
                    "User - 'eve':MaxTRESPerJob=gres/gpu=2:MaxWallDurationPerJob=60:QOS='slow'\n",
        .qos = "Name|MaxWall|GrpTRES|MaxTRESPU|Preempt|MaxTRES|\n"
               "fast|12:00:00|gres/gpu=8|gres/gpu=2|slow|cpu=9,gres/gpu=4|\n" });

    (void)state;
    expect(&made.config, "  uni:\n    weight: 7\n    limit: {cpus: 64, memory: 512G, h100: 4}\n");
    expect(&made.config,
           "  lab:\n    parent: uni\n    weight: 1\n    limit: {gpus: 8}\n"
           "    gpus_per_job: 4\n    longest_duration: 720m\n    submit: [ana, bob, eve]\n"
           "    users:\n      each: {gpus: 2}\n      bob: {gpus: 1}\n");
    expect(&made.report, "accounts:3: GrpTRES node=2: ");
    expect(&made.report, "accounts:3: uni: a queue with queues below it takes no jobs");
    expect(&made.report, "accounts:5: parent: a share that is no number");
    expect(&made.report, "accounts:5: GrpJobs=3: ");
    expect(&made.report, "accounts:8: ana: users of a queue have equal shares");
    expect(&made.report, "accounts:10: eve: MaxTRESPerJob=gres/gpu=2: `gpus_per_job` is one for ");
    expect(&made.report, "accounts:10: eve: MaxWallDurationPerJob=60: `longest_duration` is one ");
    expect(&made.report, "accounts:10: eve: QOS=slow: a queue has one set of limits");
    expect_not(&made.report, "bob");
    expect(&made.report, "qos:2: Preempt=slow: ");
    expect(&made.report, "qos:2: MaxTRES cpu=9: ");
    release(&made);
}

static void test_accounts_inherit_from_those_above(void **state)
{
    struct made made = import((struct files){
        .conf = "PartitionName=p MaxTime=2-0\n",
        .accounts =
            "Cluster - 'c':Fairshare=1:QOS='normal':GrpTRES=gres/gpu=40:"
            "MaxTRESPerJob=gres/gpu=16\nParent - 'root'\n"
            "Account - 'uni':Fairshare=1:MaxWallDurationPerJob=60\nAccount - 'own':QOS='x'\n"
            "Account - 'odd':QOS='+x':DefaultQOS='gone'\nParent - 'uni'\n"
            "Account - 'lab'\nAccount - 'two':QOS='x,normal'\n",
        .qos =
            "Name|MaxTRESPU|MaxWall|GrpTRES|\nnormal|gres/gpu=6|30|gres/gpu=20|\nx|||mem=9|\n" });

    (void)state;
    expect(&made.config, "  uni:\n    weight: 1\n    gpus_per_job: 16\n    longest_duration: 60m\n"
                         "  own:\n    weight: 1\n    limit: {memory: 9M}\n    gpus_per_job: 16\n"
                         "    longest_duration: 2880m\n");
    expect(&made.config, "  lab:\n    parent: uni\n    weight: 1\n    limit: {gpus: 20}\n"
                         "    gpus_per_job: 16\n    longest_duration: 30m\n"
                         "    users:\n      each: {gpus: 6}\n"
                         "  two:\n    parent: uni\n    weight: 1\n    limit: {gpus: 20}\n");
    expect(&made.report, "accounts:1: GrpTRES=gres/gpu=40: this limits all accounts together");
    expect(&made.report, "accounts:5: QOS=+x: a queue has one set of limits");
    expect(&made.report, "accounts:5: gone: the limits of this QOS are not known: see `--qos`");
    expect(&made.report, "accounts:8: QOS=x,normal: a queue has one set of limits");
    expect_not(&made.report, "accounts:7");
    release(&made);

    made = import(
        (struct files){ .conf = "", .accounts = "Cluster - 'c':QOS='normal'\nAccount - 'lab'\n" });
    expect(&made.report, "accounts:1: normal: the limits of this QOS are not known");
    expect_not(&made.report, "accounts:2");
    release(&made);

    made = import((struct files){ .conf = "",
                                  .accounts = "Account|User|ParentName|QOS\nroot|||normal\n"
                                              "lab||root|normal\ntwo||root|x\n" });
    expect(&made.report, "accounts:2: normal: the limits of this QOS are not known");
    expect_not(&made.report, "accounts:3");
    expect(&made.report, "accounts:4: x: the limits of this QOS are not known");
    release(&made);
}

static void test_a_table_of_associations(void **state)
{
    struct made made = import((struct files){
        .conf = "",
        .accounts = "Account|User|Share|GrpTRES|MaxWall|Par Name\nroot||1|||\n"
                    "lab||4|mem=1000|2:30:00|root\nlab|ana|1|||\na||1|||b\nb||1|||a\n"
                    "-x||1|||\nno||1|||\n12||1|||gone\n" });

    (void)state;
    expect(&made.config, "  lab:\n    weight: 4\n    limit: {memory: 1000M}\n"
                         "    longest_duration: 150m\n    submit: [ana]\n");
    expect(&made.report, "accounts:7: -x: this is no name of a queue");
    expect(&made.report, "accounts:9: gone: there is no such parent");
    expect(&made.config, "  \"no\":\n");
    expect(&made.config, "  \"12\":\n");
    expect_not(&made.config, "slurm:");
    bool is_ring = strstr(text_string(&made.config), "parent: a") &&
                   strstr(text_string(&made.config), "parent: b");
    assert_false(is_ring);
    release(&made);
}

static void test_more_than_a_queue_lists_is_reported(void **state)
{
    AUTO_RELEASE(text) struct text accounts = { 0 };

    (void)state;
    text_add(&accounts, "Account - 'a'\nParent - 'a'\n");
    for (int i = 0; i < 257; i++)
        text_printf(&accounts, "User - 'u%d':GrpTRES=cpu=1,mem=2\n", i);
    struct made made = import((struct files){ .conf = "", .accounts = text_string(&accounts) });
    expect_not(&made.config, "submit");
    expect(&made.config, "      u127: {cpus: 1, memory: 2M}\n");
    expect_not(&made.config, "u128");
    expect(&made.report, "accounts:1: a: a queue lists at most 256 users");
    expect(&made.report, "accounts:131: GrpTRES=cpu=1,mem=2: a queue has at most 256 limits");
    release(&made);
}

static void test_switches_are_racks_and_blocks(void **state)
{
    struct made made =
        import((struct files){ .conf = "TopologyPlugin=topology/tree\n",
                               .topology = "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n2\n"
                                           "SwitchName=mid Switches=s[0-1]\n"
                                           "SwitchName=top Switches=mid\n" });

    (void)state;
    expect(&made.config, "nodes:\n  n0: {rack: s0, block: mid}\n  n1: {rack: s0, block: mid}\n"
                         "  n2: {rack: s1, block: mid}\n");
    expect(&made.report, "topology.conf:4: SwitchName=top: tarn knows two levels");
    release(&made);
}

static void test_included_files(void **state)
{
    struct made made = import((struct files){ .conf = "Include other.conf\nPartitionName=q\n",
                                              .included = "PartitionName=p Default=YES\n" });

    (void)state;
    expect(&made.config, "slurm: {partition: p}\n");
    release(&made);

    made = try((struct files){ .conf = "\nInclude other.conf\n" });
    assert_string_equal(made.err.text, "slurm.conf:2: other.conf: no such file");
    release(&made);

    made = try((struct files){ .conf = "Include x\n", .included = "Include x\n" });
    assert_string_equal(made.err.text,
                        "other.conf:1: Include=x: expected at most 100 files, none inside itself");
    release(&made);
}

static void test_listings_of_scontrol(void **state)
{
    struct made made = import((struct files){
        .conf = "Configuration data as of 2030\nPriorityWeightAge       = 0\n"
                "JobSubmitPlugins        = (null)\nOverTimeLimit           = 5 min\n"
                "PowerPlugin             = \nSlurmctld(primary) at h is UP\n"
                "PartitionName=gpu AllowGroups=ALL AllowQos=ALL Default=YES QoS=N/A MaxNodes=4 "
                "GraceTime=0 MaxTime=1-00:00:00 Nodes=n[1-2] PriorityTier=1\n"
                "PartitionName=far Nodes=n[1-3]\n"
                "NodeName=n1 Arch=x86_64 CPULoad=4.68 Gres=gpu:4 OS=Linux 6.1 #1 SMP Weight=1\n",
        .topology = "SwitchName=s0 Level=0 Nodes=n1\nSwitchName=t Level=1 Nodes=n1 Switches=s0\n",
        .is_listing = true });

    (void)state;
    expect(&made.config, "slurm: {partition: gpu}\n");
    expect(&made.config, "queues:\n  default:\n    longest_duration: 1440m\n");
    expect(&made.config, "n1: {rack: s0, block: t}\n");
    expect(&made.report, "slurm.conf: OverTimeLimit=5: ");
    expect(&made.report, "slurm.conf: partition gpu: MaxNodes=4: ");
    expect(&made.report, "slurm.conf: partition far: it has nodes outside of partition gpu");
    expect(&made.report, "slurm.conf: node n1: Gres=gpu:4: ");
    expect_not(&made.report, "Weight");
    expect_not(&made.report, "Allow");
    expect_not(&made.report, "JobSubmit");
    release(&made);

    made = try((struct files){ .conf = "PartitionName=p MaxTime=soon\n", .is_listing = true });
    assert_string_equal(made.err.text, "slurm.conf: partition p: MaxTime=soon: expected minutes, "
                                       "HH:MM:SS, DAYS-HH:MM:SS or UNLIMITED");
    release(&made);
}

/* In the manner of the examples in slurm.conf(5), gres.conf(5), topology.conf(5), sacctmgr(1). */
static void test_sites_of_the_manuals(void **state)
{
    static const struct files sites[] = {
        { .conf = "SlurmctldHost=c0(10.0.0.1) # first\nSlurmctldHost=c1(10.0.0.2)\n"
                  "AuthType=auth/munge\nEpilog=/opt/slurm/epilog\nFirstJobId=65536\n"
                  "PluginDir=\"/opt/lib:/opt/slurm/lib\"\nReturnToService=0\n"
                  "StateSaveLocation=/opt/slurm/state\nTmpFS=/tmp\n#\n# Nodes\n#\n"
                  "NodeName=DEFAULT CPUs=2 RealMemory=2000 TmpDisk=64000 \\\n  State=UNKNOWN\n"
                  "NodeName=c[0-25] NodeAddr=e[0-25] Weight=16\n"
                  "DownNodes=c20 State=DOWN Reason=\"power,ETA=May1\"\n"
                  "PartitionName=DEFAULT MaxTime=30 MaxNodes=10 State=UP\n"
                  "PartitionName=debug Nodes=c[0-8,18-25] Default=YES\n"
                  "PartitionName=batch Nodes=c[9-17] MinNodes=4\n"
                  "PartitionName=long Nodes=c[9-17] MaxTime=120 AllowGroups=admin\n" },
        { .conf = "GresTypes=gpu,mps,bandwidth\n"
                  "NodeName=t[0-7] Gres=gpu:tesla:2,gpu:kepler:2,mps:400,bandwidth:lustre:4G\n"
                  "PartitionName=all Nodes=t[0-7] Default=YES\n",
          .gres = "# with and without a type\nAutoDetect=nvml\n"
                  "Name=gpu Type=tesla File=/dev/nvidia0 COREs=0,1\n"
                  "Name=gpu File=/dev/nvidia[2-3] Cores=2,3\nName=mps Count=200 "
                  "File=/dev/nvidia0\nName=bandwidth Type=lustre Count=4G Flags=CountOnly\n"
                  "NodeName=t[0-3] Name=gpu Type=a100 MultipleFiles=/dev/nvidia1,/dev/caps/c1\n" },
        { .conf = "TopologyPlugin=topology/tree\nPartitionName=p Nodes=ALL\n",
          .topology = "SwitchName=s0 Nodes=d[0-5]\nSwitchName=s1 Nodes=d[6-11]\n"
                      "SwitchName=s2 Nodes=d[12-17]\nSwitchName=s3 Switches=s[0-2]\n" },
        { .conf = "TopologyPlugin=topology/block\nPartitionName=p Nodes=ALL\n",
          .topology = "BlockName=block1 Nodes=d[01-32]\nBlockName=block2 Nodes=d[33-64]\n"
                      "BlockSizes=30,120\n" },
        { .conf = "PartitionName=p Nodes=ALL MaxTime=INFINITE\nPriorityType=priority/multifactor\n"
                  "PriorityDecayHalfLife=0\nAccountingStorageEnforce=limits\n",
          .accounts =
              "# To edit this file start with a cluster line\n"
              "Cluster - 'tux':Fairshare=1:QOS='normal,standby'\nParent - 'root'\n"
              "User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1\n"
              "Account - 'physics':Description='physics fac':Organization='science':"
              "Fairshare=30:GrpTRES=cpu=4,1=5,mem=7:MaxWallDurationPerJob=600\nParent - 'physics'\n"
              "User - 'adam':DefaultAccount='physics':Fairshare=10:MaxJobs=2\n"
              "User - 'brian':Fairshare=10:MaxTRESPerJob=cpu=16\n",
          .qos = "Name|Priority|GraceTime|Preempt|Flags|UsageFactor|GrpTRES|MaxWall|\n"
                 "normal|0|00:00:00|||1.000000|||\n"
                 "standby|0|00:00:30|||0.000000|cpu=100|-1|\n" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sites); i++) {
        struct made made = import(sites[i]);
        if (i == 0) {
            expect(&made.config, "slurm: {partition: debug}\n");
            expect(&made.report, "slurm.conf:15: Weight=16: ");
            expect(&made.report, "slurm.conf:18: MaxNodes=10: ");
        } else if (i == 1) {
            expect(&made.report, "gres.conf:4: Name=gpu: ");
            expect_not(&made.report, "mps"); /* shares by MPS go through Slurm */
            expect(&made.report, "gres.conf:6: Name=bandwidth: ");
        } else if (i == 2) {
            expect(&made.config, "  d17: {rack: s2, block: s3}\n");
        } else if (i == 3) {
            expect(&made.config, "  d33: {block: block2}\n");
            expect(&made.report, "topology.conf:3: BlockSizes=30,120: ");
        } else {
            expect(&made.config, "  physics:\n    weight: 30\n    limit: {cpus: 4, memory: 7M}\n"
                                 "    longest_duration: 600m\n"
                                 "    submit: [adam, brian]\n");
            expect(&made.config, "fair_share: {half_life: 129600m}\n");
            expect(&made.report, "slurm.conf:4: AccountingStorageEnforce=limits: ");
            expect(&made.report, "accounts:8: brian: MaxTRESPerJob=cpu=16: ");
        }
        release(&made);
    }
}

static void test_bad_input(void **state)
{
    static const struct {
        struct files files;
        const char *words;
    } cases[] = {
        { { .conf = "A=1\n- what: is\n" }, "slurm.conf:2: '-': expected KEY=VALUE" },
        { { .conf = "A=\"1\n" }, "slurm.conf:1: 'A=\"1': a quote begins and does not end" },
        { { .conf = "PartitionName=p\nPartitionName=p\n" },
          "slurm.conf:2: PartitionName=p: expected each partition once" },
        { { .conf = "PartitionName=p Nodes=ALL\nPartitionName=q Nodes=n[1-\n" },
          "slurm.conf:2: Nodes='n[1-': expected names of nodes, as n[01-16,20],login" },
        { { .conf = "PartitionName=p MaxTime=soon\n" },
          "slurm.conf:1: MaxTime=soon: expected minutes, HH:MM:SS, DAYS-HH:MM:SS or UNLIMITED" },
        { { .conf = "", .gres = "Type=h100\n" },
          "gres.conf:1: no Name, expected Name=gpu Type=TYPE File=FILE, or AutoDetect=HOW" },
        { { .conf = "", .topology = "Nodes=a\n" },
          "topology.conf:1: no SwitchName or BlockName, expected SwitchName=NAME Nodes=NODES, or "
          "Switches=SWITCHES" },
        { { .conf = "", .accounts = "Hello\n" },
          "accounts:1: 'Hello': expected a line of sacctmgr dump, as Account - 'NAME':KEY=VALUE" },
        { { .conf = "", .accounts = "Account - 'a':Fairshare\n" },
          "accounts:1: 'Fairshare': expected KEY=VALUE" },
        { { .conf = "", .accounts = "\nUser - 'a'\n" },
          "accounts:2: User - 'a': expected a line Parent - 'ACCOUNT' before it" },
        { { .conf = "", .accounts = "Coven - 'a'\n" },
          "accounts:1: 'Coven': expected Cluster, Parent, Account or User" },
        { { .conf = "", .accounts = "Cluster|Share|\nc|1|\n" },
          "accounts:1: no column 'Account', expected a header line as sacctmgr -P prints it" },
        { { .conf = "", .accounts = "Account|User|Share|\nlab|1|\n\nx\n" },
          "accounts:4: 1 fields, expected 3 as in the header" },
        { { .conf = "", .accounts = "Cluster|Account|User|Par Name|\na|x|||\nb|x|||\n" },
          "accounts:3: Cluster=b: expected one cluster: " SLURM_IMPORT_ASSOC " cluster=NAME" },
        { { .conf = "", .accounts = "Account|User|Share|\nlab||1|\n" },
          "accounts:1: no column 'ParentName', expected what this prints: " SLURM_IMPORT_ASSOC },
        { { .conf = "", .accounts = "Account - 'a':GrpTRES=12\n" },
          "accounts:1: GrpTRES=12: expected RESOURCE=COUNT, as cpu=64,mem=512G,gres/gpu=8" },
        { { .conf = "", .qos = "normal|0\n" },
          "qos:1: no column 'Name', expected a header line as sacctmgr -P prints it" },
        { { .conf = "PartitionName=p\nPartitionName=r\n", .partition = "q" },
          "slurm.conf: there is no partition 'q'; there are p, r" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made made = try(cases[i].files);
        if (made.code >= 0)
            fail_msg("accepted: %s", cases[i].words);
        assert_string_equal(made.err.text, cases[i].words);
        release(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_conf),
        cmocka_unit_test(test_sets_of_nodes),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_partitions_and_settings),
        cmocka_unit_test(test_accounts_are_queues),
        cmocka_unit_test(test_accounts_inherit_from_those_above),
        cmocka_unit_test(test_a_table_of_associations),
        cmocka_unit_test(test_more_than_a_queue_lists_is_reported),
        cmocka_unit_test(test_switches_are_racks_and_blocks),
        cmocka_unit_test(test_included_files),
        cmocka_unit_test(test_listings_of_scontrol),
        cmocka_unit_test(test_sites_of_the_manuals),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
