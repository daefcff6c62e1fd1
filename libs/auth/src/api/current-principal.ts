import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

import type { MemberPrincipal } from '../principal.js';
import { markAuthenticated } from './authenticated-requests.js';

const principals = new WeakMap<Request, MemberPrincipal>();

/** Stored outside of the request, so that no copy or log of a request contains the principal. */
export function rememberPrincipal(request: Request, principal: MemberPrincipal): void {
  principals.set(request, principal);
  markAuthenticated(request, principal.userId);
}

/** The caller, as `PrincipalGuard` authenticated them. Only for routes with that guard. */
export const CurrentPrincipal = createParamDecorator((_: undefined, context: ExecutionContext): MemberPrincipal => {
  const principal = principals.get(context.switchToHttp().getRequest<Request>());
  if (principal === undefined) throw new Error('CurrentPrincipal is used on a route without PrincipalGuard');
  return principal;
});
