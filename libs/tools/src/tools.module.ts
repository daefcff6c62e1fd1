import { Module } from '@nestjs/common';

import { JobsModule } from '#jobs';

import { HistoryModule } from './history/history.module.js';
import { ActionHooks } from './hooks/action-hooks.js';
import { EndedCallsRepository } from './hooks/ended-calls.repository.js';
import { ResultHooks } from './hooks/result-hooks.js';
import { StartHooks } from './hooks/start-hooks.js';
import { ToolIsolation } from './isolation/tool-isolation.js';
import { ToolIsolationRepository } from './isolation/tool-isolation.repository.js';
import { OutputsModule } from './outputs/outputs.module.js';
import { PluginsModule } from './plugins/plugins.module.js';
import { AwaitingCallsRepository } from './remote/awaiting-calls.repository.js';
import { CallEnds } from './remote/call-ends.js';
import { SubJobCallsRepository } from './remote/sub-job-calls.repository.js';
import { SubJobSettler } from './remote/sub-job-settler.js';
import { SubJobStarter } from './remote/sub-job-starter.js';
import { SubJobs } from './remote/sub-jobs.js';
import { ToolQueue } from './remote/tool-queue.js';
import { StartChecks } from './start-checks.js';
import { ToolCallTelemetry } from './tool-call.telemetry.js';
import { ToolRegistryModule } from './tool-registry.module.js';

const subJobs = [SubJobCallsRepository, SubJobs, SubJobSettler, SubJobStarter];
const hooks = [ActionHooks, EndedCallsRepository, ResultHooks];
const shared = [
  AwaitingCallsRepository,
  CallEnds,
  ...hooks,
  ...subJobs,
  StartChecks,
  ToolCallTelemetry,
  ToolIsolation,
  ToolQueue,
];

/** The registry of tools, the plugins, the history of calls, stored outputs and sub-jobs. Requires a global `PlatformModule`. */
@Module({
  imports: [HistoryModule, JobsModule, OutputsModule, PluginsModule, ToolRegistryModule],
  providers: [...shared, StartHooks, ToolIsolationRepository],
  exports: [...shared, HistoryModule, OutputsModule, PluginsModule, ToolRegistryModule],
})
export class ToolsModule {}
