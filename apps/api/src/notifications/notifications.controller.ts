import { Controller, Get, HttpCode, Param, Post, Query, UseGuards } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';

import { Asks } from '../auth/asks.js';
import { CurrentPrincipal } from '../auth/current-principal.js';
import { NotificationInbox, type NotificationPage, type NotificationReply } from './notification-inbox.js';
import { NotificationPrincipalGuard } from './notification-principal.guard.js';

/** What one was told. */
@Controller('api/notifications')
@UseGuards(NotificationPrincipalGuard)
export class NotificationsController {
  constructor(private readonly inbox: NotificationInbox) {}

  @Get()
  @Asks('read', 'Job')
  list(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Query() query: Readonly<Record<string, unknown>>,
  ): Promise<NotificationPage> {
    return this.inbox.list(principal, query);
  }

  @Post(':id/read')
  @HttpCode(200)
  @Asks('read', 'Job')
  markRead(@CurrentPrincipal() principal: MemberPrincipal, @Param('id') id: string): Promise<NotificationReply> {
    return this.inbox.markRead(principal, id);
  }
}
