import { canaryPromiseSec } from '../../domain/canary.ts';
import { MODES } from '../../domain/values/ids.ts';
import { isNetwork, NETWORKS } from '../../domain/networks/networks.ts';
import { canaryHistory, type CanaryReader, type CanaryRun } from '../../features/canary/history.ts';
import { CommandRefused, json, optionalMode, optionalText, type AdminCommands } from '../server/commands.ts';
import { limitOf } from '../server/whole-number.ts';

const MAX_LIMIT = 1_000;

/** `quittance canary history`. */
export function canaryCommands(store: CanaryReader): AdminCommands {
  return {
    'canary.history': async (args) => {
      const [mode, network, limit] = [optionalMode(args), optionalText(args, 'network'), limitOf(args, MAX_LIMIT)];
      if (network !== undefined && !isNetwork(network))
        throw new CommandRefused(`network must be one of ${NETWORKS.join(', ')}`);
      const asked = MODES.filter((each) => mode === undefined || each === mode).flatMap((each) =>
        NETWORKS.filter((of) => network === undefined || of === network).map((of) =>
          canaryHistory(store, each, of, limit).then((found) => found.map(shown)),
        ),
      );
      const runs = (await Promise.all(asked)).flat().toSorted((left, right) => right.started - left.started);
      return json(runs.slice(0, limit));
    },
  };
}

export type CanaryResult = 'failed' | 'payment and refund' | 'under way' | 'interrupted';

/** Only the newest of a network can be in progress: the service stopped in the middle of the others. */
function resultOf({ endedAtSec, failure }: CanaryRun, place: number): CanaryResult {
  if (failure) return 'failed';
  if (endedAtSec !== null) return 'payment and refund';
  return place === 0 ? 'under way' : 'interrupted';
}

const shown = (run: CanaryRun, place: number) => {
  const { mode, network, sessionId, amount, coin, startedAtSec, endedAtSec, steps, failure } = run;
  return {
    ...{ started: startedAtSec, mode, network, amount, coin, session_id: sessionId, ended: endedAtSec },
    result: resultOf(run, place),
    steps: steps.map(({ step, ms }) => ({ step, seconds: ms / 1000, promise: canaryPromiseSec(network, step) })),
    failed_step: failure?.step ?? null,
    reason: failure?.reason ?? null,
  };
};
