/** The page's token is worth nothing any more after signing in again in another tab; the cookie's always is. */
export const csrf = (ofPage: string): string => /(?:^|;\s*)gateline_csrf=([^;]+)/.exec(document.cookie)?.[1] ?? ofPage;
