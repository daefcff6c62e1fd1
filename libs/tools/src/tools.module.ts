import { Module } from '@nestjs/common';

import { PrincipalsRepository } from '#auth';
import { JobsModule } from '#jobs';

import { ApprovalGrantsRepository } from './approval/approval-grants.repository.js';
import { ApprovalGrantsService } from './approval/approval-grants.service.js';
import { ApprovalPoliciesRepository } from './approval/approval-policies.repository.js';
import { ApprovalPoliciesService } from './approval/approval-policies.service.js';
import { CallGate } from './approval/call-gate.js';
import { PastCallsRepository } from './approval/past-calls.repository.js';
import { PolicyExplainer } from './approval/policy-explainer.service.js';
import { PolicyReplayService } from './approval/policy-replay.service.js';
import { StartGate } from './approval/start-gate.js';
import { StartingCallsRepository } from './approval/starting-calls.repository.js';
import { AwaitingCallsRepository } from './awaiting-calls.repository.js';
import { ClientCallEnds } from './client-tools/client-call-ends.js';
import { ClientCalls } from './client-tools/client-calls.js';
import { ClientClaimsRepository } from './client-tools/client-claims.repository.js';
import { ClientToolTimeouts } from './client-tools/client-tool-timeouts.js';
import { ClientToolsService } from './client-tools/client-tools.service.js';
import { HandedCalls } from './client-tools/handed-calls.js';
import { HistoryModule } from './history/history.module.js';
import { ApprovalDecisions } from './interrupts/approval-decisions.js';
import { HumanInputs } from './interrupts/human-inputs.js';
import { InterruptDeciders } from './interrupts/interrupt-deciders.js';
import { CallInterruptKinds } from './interrupts/interrupt-kinds.js';
import { InterruptsService } from './interrupts/interrupts.service.js';
import { JobCloser } from './interrupts/job-closer.js';
import { ProviderWaits } from './interrupts/provider-waits.js';
import { UnknownOutcomes } from './interrupts/unknown-outcomes.js';
import { OutputsModule } from './outputs/outputs.module.js';
import { SubJobCallsRepository } from './sub-jobs/sub-job-calls.repository.js';
import { SubJobSettler } from './sub-jobs/sub-job-settler.js';
import { SubJobStarter } from './sub-jobs/sub-job-starter.js';
import { SubJobSweeper } from './sub-jobs/sub-job-sweeper.js';
import { SubJobs } from './sub-jobs/sub-jobs.js';
import { ToolQueue } from './tool-queue/tool-queue.js';
import { ToolRegistryModule } from './tool-registry.module.js';

const approvals = [
  ApprovalGrantsRepository,
  ApprovalGrantsService,
  ApprovalPoliciesRepository,
  ApprovalPoliciesService,
  CallGate,
  PastCallsRepository,
  PolicyExplainer,
  PolicyReplayService,
  PrincipalsRepository,
  StartGate,
  StartingCallsRepository,
];
const interrupts = [
  ApprovalDecisions,
  CallInterruptKinds,
  AwaitingCallsRepository,
  HumanInputs,
  InterruptDeciders,
  InterruptsService,
  JobCloser,
  ProviderWaits,
  UnknownOutcomes,
];
const clientTools = [
  ClientCallEnds,
  ClientCalls,
  ClientClaimsRepository,
  ClientToolsService,
  ClientToolTimeouts,
  HandedCalls,
];
const subJobs = [SubJobCallsRepository, SubJobs, SubJobSettler, SubJobStarter, SubJobSweeper];
const shared = [...approvals, ...clientTools, ...interrupts, ...subJobs, ToolQueue];

/** Tools: which there are, who is asked before they run, and what people and clients do about calls. Expects the platform. */
@Module({
  imports: [HistoryModule, JobsModule, OutputsModule, ToolRegistryModule],
  providers: shared,
  exports: [...shared, HistoryModule, OutputsModule, ToolRegistryModule],
})
export class ToolsModule {}
