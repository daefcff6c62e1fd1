import { Module } from '@nestjs/common';

import { PrincipalsModule } from '#auth';
import { JobsModule } from '#jobs';
import { ToolsModule } from '#tools';

import { ClientCallEnds } from './client-tools/client-call-ends.js';
import { ClientCalls } from './client-tools/client-calls.js';
import { ClientClaimsRepository } from './client-tools/client-claims.repository.js';
import { ClientToolTimeouts } from './client-tools/client-tool-timeouts.js';
import { ClientToolsService } from './client-tools/client-tools.service.js';
import { HandedCalls } from './client-tools/handed-calls.js';
import { CallGate } from './gate/call-gate.js';
import { PolicyExplainer } from './gate/policy-explainer.service.js';
import { StartGate } from './gate/start-gate.js';
import { StartingCallsRepository } from './gate/starting-calls.repository.js';
import { ApprovalGrantsRepository } from './grants/approval-grants.repository.js';
import { ApprovalGrantsService } from './grants/approval-grants.service.js';
import { ApprovalDecisions } from './interrupts/approval-decisions.js';
import { HumanInputs } from './interrupts/human-inputs.js';
import { InterruptDeciders } from './interrupts/interrupt-deciders.js';
import { CallInterruptKinds } from './interrupts/interrupt-kinds.js';
import { InterruptsService } from './interrupts/interrupts.service.js';
import { JobCloser } from './interrupts/job-closer.js';
import { UnknownOutcomes } from './interrupts/unknown-outcomes.js';
import { ApprovalPoliciesRepository } from './policies/approval-policies.repository.js';
import { ApprovalPoliciesService } from './policies/approval-policies.service.js';
import { PastCallsRepository } from './policies/past-calls.repository.js';
import { PolicyReplayService } from './policies/policy-replay.service.js';

const policies = [
  ApprovalGrantsRepository,
  ApprovalGrantsService,
  ApprovalPoliciesRepository,
  ApprovalPoliciesService,
  PastCallsRepository,
  PolicyExplainer,
  PolicyReplayService,
];
const gate = [CallGate, StartGate, StartingCallsRepository];
const interrupts = [
  ApprovalDecisions,
  CallInterruptKinds,
  HumanInputs,
  InterruptDeciders,
  InterruptsService,
  JobCloser,
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
const shared = [...policies, ...gate, ...interrupts, ...clientTools];

/** Decides whether calls may run, and records the decisions of people and the results of clients. Requires a global `PlatformModule`. */
@Module({
  imports: [JobsModule, PrincipalsModule, ToolsModule],
  providers: shared,
  exports: [PrincipalsModule, ...shared],
})
export class ApprovalsModule {}
