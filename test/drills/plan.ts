import type { Round } from './drill.ts';
import { canaryLeaseTaken, canaryPoor, canaryStuck } from './drills-canary.ts';
import {
  chainStandsStill,
  chainTakesBack,
  historyLost,
  oneProvider,
  providersDisagree,
  secondOfAnotherChain,
} from './drills-chains.ts';
import {
  backupOld,
  booksChanged,
  checkDies,
  followerHangs,
  historyChanged,
  eventLogLocked,
  eventLogSlow,
  listsLocked,
  rowsChanged,
  shippingStopped,
  signerFrozen,
  unreadableEvents,
} from './drills-event-log.ts';
import { addressesRunOut, diskFull, killed, restarting, starved, stopping, walletOfAnother } from './drills-node.ts';
import {
  clockWrong,
  dayUnknown,
  marketsApart,
  marketsGone,
  nobodyPays,
  receiverGone,
  receiverHangs,
  receiverRefuses,
  strayWaits,
  wrongSecret,
  wrongTokens,
} from './drills-outside.ts';
import {
  booksNotCompared,
  gasLow,
  payoutProviderDown,
  sequenceAhead,
  signerKilled,
  tokenPaused,
  treasuryEmpty,
} from './drills-refunds.ts';

/** Faults that do not meet share a round; what stops the whole node comes last. */
export const PLAN: readonly Round[] = [
  [
    [nobodyPays],
    [strayWaits],
    [backupOld, shippingStopped, booksNotCompared],
    [wrongSecret, wrongTokens],
    [dayUnknown, marketsApart, marketsGone],
    [receiverRefuses, receiverHangs, receiverGone],
  ],
  [
    [historyLost, chainStandsStill, chainTakesBack, providersDisagree],
    [treasuryEmpty, tokenPaused, sequenceAhead, payoutProviderDown],
    [diskFull, gasLow],
  ],
  [[starved, followerHangs, listsLocked, eventLogSlow, eventLogLocked], [signerFrozen]],
  [[rowsChanged, booksChanged]],
  [
    [
      canaryPoor,
      canaryStuck,
      canaryLeaseTaken,
      killed,
      stopping,
      addressesRunOut,
      walletOfAnother,
      clockWrong,
      oneProvider,
      secondOfAnotherChain,
      checkDies,
      historyChanged,
      signerKilled,
      restarting,
      // What it leaves in the event log makes every later start read-only.
      unreadableEvents,
    ],
  ],
];
