export { chargedStart, limitedStart } from './limits/limited-start.js';
export { LimitsModule } from './limits/limits.module.js';
export { RateCountersRepository } from './limits/rate-counters.repository.js';
export { type Allowance, SharedRate } from './limits/shared-rate.js';
export { StartLimiter } from './limits/start-limiter.js';
export { HitlLimiter, WorkflowStartLimiter } from './limits/workflow-limiters.js';
export { RowPrincipalGuard } from './row-principal.guard.js';
