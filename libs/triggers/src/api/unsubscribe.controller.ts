import { Controller, Get, Header, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';

import { Public } from '#auth/api';
import { ApiMediaReply } from '#platform/api';

import { UnsubscribeLinks } from '../outbound/notifications/unsubscribe-links.js';

/** The page of the unsubscribe link; its token authorizes the request. A GET changes nothing, because mail programs open links to check them. */
@Public()
@ApiTags('Notifications')
@Controller('api/notification-channels/unsubscribe')
export class UnsubscribeController {
  constructor(private readonly links: UnsubscribeLinks) {}

  @Get(':token')
  @ApiOperation({ operationId: 'showUnsubscribePage', summary: 'Show a button that ends the e-mails of an address' })
  @ApiParam({ name: 'token', description: 'The token in the link of the e-mail.' })
  @ApiMediaReply(200, 'The page.', { 'text/html': 'A form with the button.' })
  @Header('content-type', 'text/html; charset=utf-8')
  page(): string {
    return page('<form method="post"><button>Stop these e-mails</button></form>');
  }

  @Post(':token')
  @ApiOperation({ operationId: 'unsubscribe', summary: 'End the e-mails of an address' })
  @ApiParam({ name: 'token', description: 'The token in the link of the e-mail.' })
  @ApiMediaReply(200, 'The page.', { 'text/html': 'Whether the e-mails have ended.' })
  @HttpCode(200)
  @Header('content-type', 'text/html; charset=utf-8')
  async unsubscribe(@Param('token') token: string): Promise<string> {
    const isEnded = await this.links.use(token);
    return page(isEnded ? '<p>No more e-mails will be sent to this address.</p>' : '<p>This link is not valid.</p>');
  }
}

function page(content: string): string {
  return `<!doctype html><html lang="en"><title>Nightshift</title><body>${content}</body></html>`;
}
