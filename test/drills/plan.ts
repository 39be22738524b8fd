import type { Round } from './drill.ts';
import { chainStandsStill, chainTakesBack, historyLost, providersDisagree } from './drills-chains.ts';
import {
  addressesRunOut,
  diskFull,
  followerHangs,
  killed,
  ledgerLocked,
  ledgerSlow,
  listsLocked,
  restarting,
  starved,
  stopping,
  unreadableEvents,
} from './drills-node.ts';
import { marketsApart, marketsGone, nobodyPays, receiverGone, receiverHangs, receiverRefuses, wrongSecret } from './drills-outside.ts';
import { gasLow, payoutProviderDown, sequenceAhead, signerKilled, tokenPaused, treasuryEmpty } from './drills-refunds.ts';

/** Faults that do not meet share a round; what stops the whole node comes last. */
export const PLAN: readonly Round[] = [
  [[nobodyPays], [wrongSecret], [marketsApart, marketsGone], [receiverRefuses, receiverHangs, receiverGone]],
  [
    [historyLost, chainStandsStill, chainTakesBack, providersDisagree],
    [treasuryEmpty, tokenPaused, sequenceAhead, payoutProviderDown],
    [diskFull, gasLow],
  ],
  [[starved, followerHangs, listsLocked, ledgerSlow, ledgerLocked, unreadableEvents]],
  [[killed, stopping, addressesRunOut, signerKilled, restarting]],
];
