import { Module } from '@nestjs/common';

import { ApprovalsModule } from '#approvals';
import { JobsModule } from '#jobs';
import { LimitsModule } from '#jobs/api';

import { WorkflowsModule } from '../workflows.module.js';
import { ChatSchedulesResolver } from './chat-schedules.resolver.js';
import { HitlAnswers } from './hitl-answers.js';
import { JobWorkflowResolver } from './job-workflow.resolver.js';
import { NodeTypesResolver } from './node-types.resolver.js';
import { scheduleFieldsResolvers } from './schedule-fields.resolver.js';
import { JobDiagramResolver, WorkflowDiagramResolver } from './workflow-diagrams.resolver.js';
import { WorkflowMutationsResolver } from './workflow-mutations.resolver.js';
import { WorkflowSchedulesResolver } from './workflow-schedules.resolver.js';
import { WorkflowStart } from './workflow-start.js';
import { WorkflowStartsResolver } from './workflow-starts.resolver.js';
import { WorkflowsController } from './workflows.controller.js';
import { WorkflowsResolver, WorkflowVersionFieldsResolver } from './workflows.resolver.js';

/** Workflows, their versions, schedules, starts and node runs. */
@Module({
  imports: [JobsModule, LimitsModule, ApprovalsModule, WorkflowsModule],
  controllers: [WorkflowsController],
  providers: [
    ChatSchedulesResolver,
    HitlAnswers,
    WorkflowStart,
    JobDiagramResolver,
    JobWorkflowResolver,
    NodeTypesResolver,
    WorkflowDiagramResolver,
    WorkflowMutationsResolver,
    WorkflowSchedulesResolver,
    ...scheduleFieldsResolvers,
    WorkflowStartsResolver,
    WorkflowVersionFieldsResolver,
    WorkflowsResolver,
  ],
})
export class WorkflowsApiModule {}
