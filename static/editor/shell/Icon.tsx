let sprite = "";

export function takeSprite(url: string): void {
  sprite = url;
}

/** One of static/icons.json, as templates draw it. */
export function Icon({ name, size = 16 }: { name: string; size?: 12 | 14 | 16 | 20 }) {
  return (
    <svg
      className={size === 16 ? "icon" : `icon icon-${size}`}
      viewBox="0 0 24 24"
      width={size}
      height={size}
      aria-hidden="true"
    >
      <use href={`${sprite}#${name}`} />
    </svg>
  );
}
