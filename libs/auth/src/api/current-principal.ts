import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

import type { MemberPrincipal } from '../principal.js';
import { markAuthenticated } from './authenticated-requests.js';

const principals = new WeakMap<Request, MemberPrincipal>();

/** Kept beside the request, not on it: nothing that copies or logs a request meets it. */
export function rememberPrincipal(request: Request, principal: MemberPrincipal): void {
  principals.set(request, principal);
  markAuthenticated(request);
}

/** Who asks, as `PrincipalGuard` found out. Only for routes behind it. */
export const CurrentPrincipal = createParamDecorator((_: undefined, context: ExecutionContext): MemberPrincipal => {
  const principal = principals.get(context.switchToHttp().getRequest<Request>());
  if (principal === undefined) throw new Error('CurrentPrincipal stands on a route without PrincipalGuard');
  return principal;
});
