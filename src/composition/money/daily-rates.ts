import { createDailyRates } from '../../adapters/rates/daily-rates.ts';
import { RecordDailyRates } from '../../features/ledger/valuation/record-daily.process.ts';
import type { HealthChecks } from '../../observability/health.ts';
import { reportBookRates } from '../../observability/metrics/parts.ts';
import { bookRateFacts } from '../../observability/service-health.ts';
import type { Ledger } from './ledger.ts';
import { rateSettings, type Foundation } from '../service-foundation.ts';
import type { ServiceParts } from '../service-parts.ts';

/** Null if the books have no currency, and in processes that are not workers. */
export function recordDailyRates(
  parts: ServiceParts,
  { store, metrics }: Pick<Foundation, 'store' | 'metrics'>,
  { booked }: Pick<Ledger, 'booked'>,
  health: HealthChecks,
): RecordDailyRates | null {
  const { config, roles, clock, random, log } = parts;
  const currency = config.BOOK_RATES_CURRENCY;
  if (currency === undefined || !roles.worker) return null;
  const sources = createDailyRates(rateSettings(parts));
  const recording = new RecordDailyRates({
    currency,
    sources,
    booked,
    store,
    clock,
    random,
    log,
    everyMs: config.BOOK_RATES_EVERY_SECONDS * 1000,
  });
  health.add(() => bookRateFacts(recording.missing(), currency));
  reportBookRates(metrics.registry, () => recording.missing());
  recording.start();
  return recording;
}
