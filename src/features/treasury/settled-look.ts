import { must } from '../../domain/values/must.ts';
import { ChainUnavailable } from '../../ports/chain/chain.ts';
import type { WholeRows } from '../../runtime/projections/whole-rows.ts';
import type { MoveExecutor } from '../payouts/moves/records.ts';
import { hasDifference, isSameDifference, lookAt, type Look, type LookDeps } from './reconcile-look.ts';

export interface SettledLookDeps extends LookDeps {
  /** The books must be complete while they are read. Missing entries would look like money brought in or taken out. */
  readonly wholeBooks: WholeRows;
  /** A difference counts only if it persists after this pause, by when anything landing in between is recorded. */
  readonly pause: () => Promise<void>;
}

/** The providers that showed the balances of one treasury. */
export interface Witnesses {
  /** The least recently asked first: the next look asks that one, so that none hides anything for long. */
  asked: readonly string[];
  /** They contradicted each other in the last comparison, so none of them is believed alone. */
  areAtOdds: boolean;
}

export const noWitnesses = (): Witnesses => ({ asked: [], areAtOdds: false });

/** Comparisons needed to accept a difference. */
const LOOKS = 3;
/** Comparisons after which a changing difference is accepted, so that a continuing outflow does not go unnoticed. */
const MOST_LOOKS = 5;

/** The last of as many looks as it takes until two of them agree, or the most there may be. */
export async function settledLook(executor: MoveExecutor, deps: SettledLookDeps, witnesses: Witnesses): Promise<Look> {
  const looks: Look[] = [];
  while (looks.length < MOST_LOOKS) {
    if (looks.length > 0) await deps.pause();
    const look = await deps.wholeBooks(() => lookAt(executor, deps, witnesses.asked));
    const others = witnesses.asked.filter((provider) => !look.providers.includes(provider));
    witnesses.asked = [...others, ...look.providers];
    looks.push(look);
    if (!isSettled(looks, witnesses)) continue;
    witnesses.areAtOdds = false;
    return look;
  }
  witnesses.areAtOdds = areContradictory(looks);
  if (!witnesses.areAtOdds) return must(looks.at(-1));
  const providers = [...new Set(looks.flatMap((look) => look.providers))].toSorted();
  throw new ChainUnavailable(
    `${providers.join(' and ')} show different balances of our addresses on ${executor.chain.network}`,
  );
}

/** A difference needs more looks than its absence. */
function isSettled(looks: readonly Look[], { areAtOdds }: Witnesses): boolean {
  const [last, before] = [must(looks.at(-1)), looks.at(-2)];
  if (!before) return !hasDifference(last) && !areAtOdds;
  return isSameDifference(before, last) && (looks.length >= LOOKS || !hasDifference(last));
}

/** Whether one of several providers showed the same twice: then the balances do not change, and the others are wrong. */
function areContradictory(looks: readonly Look[]): boolean {
  const byProviders = [...Map.groupBy(looks, ({ providers }) => providers.join()).values()];
  const repeats = (own: readonly Look[]): boolean =>
    own.some((look, index) => own.slice(index + 1).some((later) => isSameDifference(look, later)));
  return byProviders.length > 1 && byProviders.some(repeats);
}
