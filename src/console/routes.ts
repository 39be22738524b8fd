import type { ConsoleDeps } from './deps.ts';
import { accountRoutes } from './pages/books/account.ts';
import { adjustmentRoutes } from './pages/books/adjustments.ts';
import { balanceRoutes } from './pages/operations/balances.ts';
import { attentionRoutes } from './pages/operations/attention.ts';
import { auditRoutes } from './pages/books/audit.ts';
import { bookRoutes } from './pages/books/books.ts';
import { canaryRoutes } from './pages/operations/canaries.ts';
import { chainRoutes } from './pages/operations/chains.ts';
import { homeRoutes } from './pages/home.ts';
import { meRoutes } from './pages/people/me.ts';
import { monthStatementRoutes } from './pages/books/month-statement.ts';
import { merchantRoutes } from './pages/merchants.ts';
import { monthRoutes } from './pages/books/months.ts';
import { paymentLinkRoutes } from './pages/merchant/payment-links.ts';
import { paymentRoutes } from './pages/merchant/payment.ts';
import { paymentsRoutes } from './pages/merchant/payments.ts';
import { peopleRoutes } from './pages/people/people.ts';
import { requestPages } from './pages/merchant/requests.ts';
import { searchRoutes } from './pages/search.ts';
import { settingsRoutes } from './pages/merchant/settings.ts';
import { statementRoutes } from './pages/merchant/statement.ts';
import { sweepRoutes } from './pages/operations/sweeps.ts';
import { keyRoutes } from './pages/merchant/keys.ts';
import { deliveryRoutes } from './pages/operations/deliveries.ts';
import { serviceRoutes } from './pages/operations/service.ts';
import { treasuryRoutes } from './pages/operations/treasury.ts';
import { unmatchedRoutes } from './pages/operations/unmatched.ts';
import { webhookPages } from './pages/merchant/webhooks.ts';
import type { ConsoleRoutes } from './server.ts';

/** Every page; each names the action that it needs. */
export function consoleRoutes(deps: ConsoleDeps): ConsoleRoutes {
  const ofMerchants = [
    paymentsRoutes,
    paymentRoutes,
    paymentLinkRoutes,
    webhookPages,
    requestPages,
    keyRoutes,
    settingsRoutes,
    statementRoutes,
  ];
  const ofService = [
    attentionRoutes,
    chainRoutes,
    deliveryRoutes,
    serviceRoutes,
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
