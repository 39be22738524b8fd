import type { ConsoleDeps } from './deps.ts';
import { accountRoutes } from './pages/account.ts';
import { adjustmentRoutes } from './pages/adjustments.ts';
import { balanceRoutes } from './pages/balances.ts';
import { attentionRoutes } from './pages/attention.ts';
import { auditRoutes } from './pages/audit.ts';
import { bookRoutes } from './pages/books.ts';
import { canaryRoutes } from './pages/canaries.ts';
import { chainRoutes } from './pages/chains.ts';
import { claimRoutes } from './pages/claims.ts';
import { homeRoutes } from './pages/home.ts';
import { meRoutes } from './pages/me.ts';
import { monthStatementRoutes } from './pages/month-statement.ts';
import { merchantRoutes } from './pages/merchants.ts';
import { monthRoutes } from './pages/months.ts';
import { paymentLinkRoutes } from './pages/payment-links.ts';
import { paymentRoutes } from './pages/payment.ts';
import { paymentsRoutes } from './pages/payments.ts';
import { peopleRoutes } from './pages/people.ts';
import { requestPages } from './pages/requests.ts';
import { searchRoutes } from './pages/search.ts';
import { settingsRoutes } from './pages/settings.ts';
import { statementRoutes } from './pages/statement.ts';
import { sweepRoutes } from './pages/sweeps.ts';
import { treasuryRoutes } from './pages/treasury.ts';
import { unmatchedRoutes } from './pages/unmatched.ts';
import { webhookPages } from './pages/webhooks.ts';
import type { ConsoleRoutes } from './server.ts';

/** Every page; each names the action that it needs. */
export function consoleRoutes(deps: ConsoleDeps): ConsoleRoutes {
  const ofMerchants = [
    paymentsRoutes,
    paymentRoutes,
    claimRoutes,
    paymentLinkRoutes,
    webhookPages,
    requestPages,
    settingsRoutes,
    statementRoutes,
  ];
  const ofService = [
    attentionRoutes,
    chainRoutes,
    canaryRoutes,
    unmatchedRoutes,
    treasuryRoutes,
    balanceRoutes,
    sweepRoutes,
    adjustmentRoutes,
    bookRoutes,
    accountRoutes,
    monthRoutes,
    monthStatementRoutes,
    auditRoutes,
    peopleRoutes,
  ];
  const parts = [homeRoutes, merchantRoutes, searchRoutes, meRoutes, ...ofMerchants, ...ofService].map((routes) =>
    routes(deps),
  );
  return { read: parts.flatMap(({ read }) => read), change: parts.flatMap(({ change }) => change) };
}
