/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_ROUTES_H
#define API_ROUTES_H

/* routes - the handlers, by the file that defines them; routes.c maps paths to handlers */

#include "api/call.h"

call_fn handle_submit;                                                     /* submissions.c */
call_fn handle_list, handle_show;                                          /* jobs.c */
call_fn handle_why;                                                        /* explanations.c */
call_fn handle_when, handle_when_like, handle_choose;                      /* starts.c */
call_fn handle_job_action, handle_job_update, handle_signal, handle_enter; /* job_actions.c */
call_fn handle_output, handle_job_events, handle_events;                   /* streams.c */
call_fn handle_gpus, handle_topology, handle_clear;                        /* gpus.c */
call_fn handle_history;                                                    /* history.c */
call_fn handle_drain;                                                      /* drains.c */
call_fn handle_nodes, handle_interrupt, handle_scale;                      /* nodes.c */
call_fn handle_pools, handle_queues;                                       /* queues.c */
call_fn handle_metrics, handle_metrics_dcgm;                               /* scrape.c */
call_fn handle_alerts, handle_silence, handle_unsilence;                   /* silencing.c */
call_fn handle_config, handle_config_log;                                  /* configuration.c */
call_fn handle_apply, handle_undo;                                         /* configuration.c */
call_fn handle_whatif, handle_rehearsal;                                   /* questions.c */
call_fn handle_overview;                                                   /* page/overview.c */
call_fn handle_audit, handle_timeline;                                     /* page/audit.c */
call_fn handle_pipelines, handle_pipeline;                                 /* page/pipelines.c */
call_fn handle_forecast;                                                   /* page/timetable.c */
call_fn handle_report;                                                     /* usage_report.c */
call_fn handle_estimates;                                                  /* estimates.c */
call_fn handle_reservations, handle_reserve, handle_unreserve;             /* reservations.c */
call_fn handle_tokens, handle_token_create, handle_token_revoke;           /* tokens.c */
call_fn handle_session_begin, handle_session_end;                          /* sessions.c */
call_fn handle_login, handle_login_ways;                                   /* login/login.c */
call_fn handle_crons, handle_cron_remove;                                  /* repeats.c */
call_fn handle_daemon, handle_openapi, handle_stop, handle_whoami;         /* service.c */

#endif
