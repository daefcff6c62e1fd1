import { Module } from '@nestjs/common';

import { ApprovalsModule } from '#approvals';
import { JobsModule } from '#jobs';
import { LimitsModule } from '#jobs/api';

import { WorkflowsModule } from '../workflows.module.js';
import { HitlAnswers } from './hitl-answers.js';
import { JobWorkflowResolver, NodeRunErrorResolver } from './job-workflow.resolver.js';
import { NodeTypesResolver } from './node-types.resolver.js';
import { JobDiagramResolver, WorkflowDiagramResolver } from './workflow-diagrams.resolver.js';
import { WorkflowMutationsResolver } from './workflow-mutations.resolver.js';
import { WorkflowStart } from './workflow-start.js';
import { WorkflowStartsResolver } from './workflow-starts.resolver.js';
import { WorkflowsController } from './workflows.controller.js';
import { WorkflowsResolver, WorkflowVersionFieldsResolver } from './workflows.resolver.js';

/** Workflows, their versions, starts and node runs. */
@Module({
  imports: [JobsModule, LimitsModule, ApprovalsModule, WorkflowsModule],
  controllers: [WorkflowsController],
  providers: [
    HitlAnswers,
    WorkflowStart,
    JobDiagramResolver,
    JobWorkflowResolver,
    NodeRunErrorResolver,
    NodeTypesResolver,
    WorkflowDiagramResolver,
    WorkflowMutationsResolver,
    WorkflowStartsResolver,
    WorkflowVersionFieldsResolver,
    WorkflowsResolver,
  ],
})
export class WorkflowsApiModule {}
