import { Module, type OnModuleInit } from '@nestjs/common';

import { ApprovalsModule } from '#approvals';
import { ChatModule } from '#chat';
import { IntegrationsModule } from '#integrations';
import { JobHandlers, JobsModule, Retention, TurnMessages } from '#jobs';
import { ModelsModule } from '#models';
import { ToolsModule } from '#tools';

import { DefinitionChecks } from './definitions/definition-checks.js';
import { DefinitionsRepository } from './definitions/definitions.repository.js';
import { PublishedWorkflowsRepository } from './definitions/published-workflows.repository.js';
import { VersionsInUse } from './definitions/versions-in-use.js';
import { WorkflowsRepository } from './definitions/workflows.repository.js';
import { WorkflowsService } from './definitions/workflows.service.js';
import { CallerPolicies } from './offered/caller-policies.js';
import { OfferedWorkflowsRepository } from './offered/offered-workflows.repository.js';
import { WorkflowCalls } from './offered/workflow-calls.service.js';
import { WorkflowToolSource } from './offered/workflow-tool.source.js';
import { PluginNodes } from './plugin-nodes/plugin-nodes.js';
import { MemoryRepository } from './run/memory.repository.js';
import { NodeRunsRepository } from './run/node-runs.repository.js';
import { NodeServices } from './run/node-services.js';
import { RunPlanLoader } from './run/run-plan-loader.js';
import { RunUsageRepository } from './run/run-usage.repository.js';
import { WorkflowHandler } from './run/workflow.handler.js';
import { WorkflowInstance } from './run/workflow-instance.js';
import { ReadyVersions } from './start/ready-versions.js';
import { RerunWorkflowService } from './start/rerun-workflow.service.js';
import { StartWorkflowService } from './start/start-workflow.service.js';
import { StartableVersionsRepository } from './start/startable-versions.repository.js';
import { WorkflowLaunch } from './start/workflow-launch.js';
import { workflowTurns } from './start/workflow-turns.js';
import { HitlRequestsRepository } from './state/hitl-requests.repository.js';
import { RunStateRepository } from './state/run-state.repository.js';
import { ShownNodeRunsRepository } from './state/shown-node-runs.repository.js';
import { WorkflowDiagrams } from './state/workflow-diagrams.js';
import { WorkflowStateReader } from './state/workflow-state-reader.js';

const definitions = [
  DefinitionChecks,
  DefinitionsRepository,
  PluginNodes,
  PublishedWorkflowsRepository,
  VersionsInUse,
  WorkflowsRepository,
  WorkflowsService,
];
const offered = [CallerPolicies, OfferedWorkflowsRepository, WorkflowCalls, WorkflowToolSource];
const runs = [MemoryRepository, NodeServices, RunPlanLoader, RunUsageRepository, WorkflowHandler, WorkflowInstance];
const starts = [
  NodeRunsRepository,
  ReadyVersions,
  RerunWorkflowService,
  StartableVersionsRepository,
  StartWorkflowService,
  WorkflowLaunch,
];
const states = [
  HitlRequestsRepository,
  RunStateRepository,
  ShownNodeRunsRepository,
  WorkflowDiagrams,
  WorkflowStateReader,
];

/** Workflows of workspaces: their definitions, and jobs that run them. Expects the platform. */
@Module({
  imports: [ApprovalsModule, ChatModule, IntegrationsModule, JobsModule, ModelsModule, ToolsModule],
  providers: [...definitions, ...offered, ...runs, ...starts, ...states],
  exports: [...definitions, ...starts, ...states],
})
export class WorkflowsModule implements OnModuleInit {
  constructor(
    private readonly handlers: JobHandlers,
    private readonly turns: TurnMessages,
    private readonly handler: WorkflowHandler,
    private readonly retention: Retention,
    private readonly memory: MemoryRepository,
  ) {}

  onModuleInit(): void {
    this.handlers.register(this.handler);
    this.turns.register(workflowTurns);
    this.retention.register(this.memory);
  }
}
